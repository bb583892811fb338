package protocol

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type inner struct {
	Name string `json:"name"`
}

type everything struct {
	Text     string                     `json:"text"`
	Flag     bool                       `json:"flag"`
	Int      int                        `json:"int"`
	Int64    int64                      `json:"int64"`
	Uint     uint64                     `json:"uint"`
	Float    float64                    `json:"float"`
	Raw      json.RawMessage            `json:"raw"`
	Map      map[string]json.RawMessage `json:"map"`
	List     []inner                    `json:"list"`
	Inner    *inner                     `json:"inner"`
	Optional string                     `json:"optional,omitempty"`
	Hidden   string
}

const complete = `{"text":"t","flag":true,"int":-1,"int64":9223372036854775807,"uint":0,"float":1e2,"raw": [1.0] ,` +
	`"map":{"a": 1.0},"list":[{"name":"n"}],"inner":null}`

func TestDecodeParams(t *testing.T) {
	var got everything
	if err := DecodeParams(json.RawMessage(complete), &got); err != nil {
		t.Fatal(err)
	}
	if got.Text != "t" || !got.Flag || got.Int != -1 || got.Int64 != 1<<63-1 || got.Float != 100 ||
		string(got.Raw) != "[1.0]" || string(got.Map["a"]) != "1.0" || got.List[0].Name != "n" || got.Inner != nil {
		t.Errorf("got %+v", got)
	}
	again, err := EncodePayload(got)
	want := `{"text":"t","flag":true,"int":-1,"int64":9223372036854775807,"uint":0,"float":100,"raw":[1.0],"map":{"a":1.0},"list":[{"name":"n"}],"inner":null}`
	if err != nil || string(again) != want {
		t.Errorf("encoded as %s, %v\nwant %s", again, err, want)
	}
}

func TestDecodeParamsNamesThePath(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{`"text":"t"`, `"text":null`, `params.text: must be a string, not null`},
		{`"text":"t",`, ``, `params.text is missing`},
		{`"text":"t"`, `"Text":"t"`, `names are case-sensitive: write "text"`},
		{`"text":"t"`, `"text":"t","Hidden":"x"`, `unknown member "Hidden", known are text, flag`},
		{`"text":"t"`, `"text":"t","` + strings.Repeat("é", 100) + `":1`, `ééé…"`},
		{`"flag":true`, `"flag":true,"flag":true`, `params: duplicate member "flag"`},
		{`"flag":true`, `"flag":"true"`, `params.flag: must be a boolean, not a string`},
		{`"int":-1`, `"int":-1.0`, `params.int: must be an integer, written without fraction or exponent`},
		{`"int":-1`, `"int":"1"`, `params.int: must be a number, not a string`},
		{`9223372036854775807`, `9223372036854775808`, `params.int64: must be an integer`},
		{`"uint":0`, `"uint":-1`, `params.uint: must be an integer from 0`},
		{`1e2`, `1e999`, `params.float: the number is out of range`},
		{`{"a": 1.0}`, `{"a":1,"b":2,"\u0061":3}`, `params.map: duplicate member "a"`},
		{`{"a": 1.0}`, `[]`, `params.map: must be an object, not an array`},
		{`{"name":"n"}`, `{"name":"n"},{"name":7}`, `params.list[1].name: must be a string, not a number`},
		{`[{"name":"n"}]`, `{}`, `params.list: must be an array, not an object`},
		{`"inner":null`, `"inner":{"nam":1}`, `params.inner: unknown member "nam"`},
		{`"inner":null`, `"inner":7`, `params.inner: must be an object, not a number`},
		{`"inner":null}`, `"inner":null}}`, `byte`},
		{`"raw": [1.0]`, `"raw": [1.0,]`, `params.raw: invalid character`},
		{`"text":"t"`, `"text":nul`, `params.text: `},
	} {
		text := strings.Replace(complete, test.from, test.to, 1)
		if text == complete {
			t.Fatalf("%q isn't in the text", test.from)
		}
		var v everything
		err := DecodeParams(json.RawMessage(text), &v)
		var rpcErr *Error
		if !errors.As(err, &rpcErr) || rpcErr.Code != CodeInvalidParams || !strings.Contains(rpcErr.Message, test.want) {
			t.Errorf("%s: got %v, want %q", test.to, err, test.want)
		}
	}
}

func TestDecodeMissingParams(t *testing.T) {
	var optional struct {
		A string `json:"a,omitempty"`
	}
	if err := DecodeParams(nil, &optional); err != nil {
		t.Errorf("missing params: %v", err)
	}
	var required inner
	if err := DecodeParams(nil, &required); err == nil || !strings.Contains(err.Error(), "params.name is missing") {
		t.Errorf("got %v", err)
	}
	if err := DecodeResult(json.RawMessage(`7`), &required); !errors.Is(err, &Error{Code: CodeInvalidRequest}) || !strings.Contains(err.Error(), "result: must be an object") {
		t.Errorf("got %v", err)
	}
}

func TestEncodeIsVerbatim(t *testing.T) {
	raw := " { \"a\" : 1.0,\n\"a\":-0.0, \"\\u0041\\/\": \"\U0001f600\" } "
	frame, err := EncodeRequest(7, "m", json.RawMessage(raw))
	if want := `{"jsonrpc":"2.0","id":7,"method":"m","params":` + raw + `}`; err != nil || string(frame) != want {
		t.Errorf("request: %s, %v", frame, err)
	}
	frame, err = EncodeNotification(`q"é`, nil)
	if want := `{"jsonrpc":"2.0","method":"q\"é"}`; err != nil || string(frame) != want {
		t.Errorf("notification: %s, %v", frame, err)
	}
	frame, err = EncodeResult(MaxID, json.RawMessage("\t1.0 "))
	if want := "{\"jsonrpc\":\"2.0\",\"id\":9007199254740991,\"result\":\t1.0 }"; err != nil || string(frame) != want {
		t.Errorf("result: %s, %v", frame, err)
	}
	frame, err = EncodeError(0, &Error{Code: CodeParse, Message: "bad \xff byte"})
	if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad ` + "\uFFFD" + ` byte"}}`; err != nil || string(frame) != want {
		t.Errorf("error: %s, %v", frame, err)
	}
	frame, err = EncodeError(3, &Error{Code: 1, Message: "m", Data: &ErrorData{Builtin: "ValueError", Type: "T", Extra: map[string]json.RawMessage{"z": json.RawMessage("1.0"), "a": nil}}})
	if want := `{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m","data":{"builtin":"ValueError","type":"T","a":null,"z":1.0}}}`; err != nil || string(frame) != want {
		t.Errorf("error: %s, %v", frame, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, encode := range map[string]func() error{
		"id 0":             func() error { _, err := EncodeRequest(0, "m", nil); return err },
		"id too large":     func() error { _, err := EncodeRequest(MaxID+1, "m", nil); return err },
		"method too long":  func() error { _, err := EncodeNotification(strings.Repeat("m", 129), nil); return err },
		"method not UTF-8": func() error { _, err := EncodeNotification("\xff", nil); return err },
		"params no object": func() error { _, err := EncodeNotification("m", json.RawMessage(`[]`)); return err },
		"params inject":    func() error { _, err := EncodeNotification("m", json.RawMessage(`{},"id":1`)); return err },
		"result empty":     func() error { _, err := EncodeResult(1, json.RawMessage(``)); return err },
		"result two":       func() error { _, err := EncodeResult(1, json.RawMessage(`1 2`)); return err },
		"error code":       func() error { _, err := EncodeError(1, &Error{Code: 1 << 40}); return err },
		"error data name": func() error {
			_, err := EncodeError(1, &Error{Data: &ErrorData{Extra: map[string]json.RawMessage{"type": nil}}})
			return err
		},
		"error data value": func() error {
			_, err := EncodeError(1, &Error{Data: &ErrorData{Extra: map[string]json.RawMessage{"x": json.RawMessage("}")}}})
			return err
		},
		"payload text": func() error { _, err := EncodePayload(inner{Name: "\xff"}); return err },
		"payload raw":  func() error { _, err := EncodePayload(ToolCallResult{Value: json.RawMessage("NaN")}); return err },
		"payload input": func() error {
			_, err := EncodePayload(ExecutorRunParams{Inputs: map[string]json.RawMessage{"a": json.RawMessage("01")}})
			return err
		},
		"payload float": func() error {
			var zero float64
			_, err := EncodePayload(ExecutorRunResult{DurationMS: 1 / zero})
			return err
		},
	} {
		if err := encode(); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) < 10 {
			t.Errorf("%s: poor error %q", name, err)
		}
	}
}

// Every valid vector survives decoding and encoding: envelope members aside, not a byte of a payload changes.
func TestReencodedVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		if !v.Valid {
			continue
		}
		first, err := Decode([]byte(v.Frame))
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		frame, err := reencode(first)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		second, err := Decode(frame)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if first.ID != second.ID || first.Method != second.Method || string(first.Params) != string(second.Params) || string(first.Result) != string(second.Result) {
			t.Errorf("%s: %s became %s", v.Name, v.Frame, frame)
		}
	}
}

func reencode(m *Message) ([]byte, error) {
	switch m.Kind() {
	case KindRequest:
		return EncodeRequest(m.ID, m.Method, m.Params)
	case KindNotification:
		return EncodeNotification(m.Method, m.Params)
	case KindResponse:
		return EncodeResult(m.ID, m.Result)
	default:
		return EncodeError(m.ID, m.Error)
	}
}

func TestErrorIs(t *testing.T) {
	err := error(Errorf(CodeBusy, "64 in flight"))
	if !errors.Is(err, &Error{Code: CodeBusy}) || errors.Is(err, &Error{Code: CodeTool}) || errors.Is(err, &Error{Code: CodeBusy, Message: "other"}) {
		t.Error("Is compares wrongly")
	}
	for code, want := range map[int]string{
		CodeParse: "RuntimeError/ProtocolError", CodeInvalidParams: "ValueError/InvalidParamsError", CodeInternal: "RuntimeError/InternalError",
		CodeUnauthenticated: "PermissionError/UnauthenticatedError", CodeBusy: "RuntimeError/BusyError", CodeTooLarge: "ValueError/FrameTooLargeError",
		CodeCancelled: "RuntimeError/CancelledError", CodeTool: "RuntimeError/ToolError",
	} {
		if data := Errorf(code, "x").Data; data.Builtin+"/"+data.Type != want {
			t.Errorf("%d: %s/%s, want %s", code, data.Builtin, data.Type, want)
		}
	}
}
