package protocol

import "encoding/json"

// DecodeParams decodes a params or result object strictly into v, a pointer to a struct.
func DecodeParams(raw json.RawMessage, v any) error { return json.Unmarshal(raw, v) }

// EncodePayload encodes a payload struct, carrying json.RawMessage fields verbatim.
func EncodePayload(v any) (json.RawMessage, error) { return json.Marshal(v) }
