package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolplane/toolplane/host/capability"
)

type got struct {
	Status  int
	Body    string
	Headers map[string]string
}

func get(t *testing.T, p *Plugin, arguments string) got {
	t.Helper()
	var g got
	if err := json.Unmarshal([]byte(mustCall(t, p, "http_get", arguments)), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// server answers on 127.0.0.1; the plugins here reach it as "localhost" and as "127.0.0.1", two hosts by name.
func server(t *testing.T) (asIP, asName string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s", r.Method, body)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	mux.HandleFunc("/again", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 40<<20)) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
}

func TestHTTPIsRefusedByDefault(t *testing.T) {
	p := open(t, newRuntime(t), Spec{})
	_, err := call(t.Context(), p, "http_get", `{"url":"https://API.Example.com:8443/v1?token=secret"}`)
	if err == nil || err.Builtin != capability.PermissionError || err.Type != "PolicyError" {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Message, "`[plugins.fault] allowed_hosts = [\"api.example.com\"]`") {
		t.Errorf("the message names no line to add: %s", err.Message)
	}
	if strings.Contains(err.Message, "secret") {
		t.Errorf("the message shows the query: %s", err.Message)
	}
	mustCall(t, p, "noop", `{}`)
}

func TestHTTPToAllowedHosts(t *testing.T) {
	asIP, _ := server(t)
	p := open(t, newRuntime(t), Spec{AllowedHosts: []string{"*.0.0.1"}})
	if g := get(t, p, `{"url":"`+asIP+`/hello"}`); g.Status != http.StatusTeapot || g.Body != "GET " || g.Headers["x-two"] != "a,b" {
		t.Errorf("got %+v", g)
	}
	if g := get(t, p, `{"url":"`+asIP+`/hello","body":"ünïcode"}`); g.Body != "POST ünïcode" {
		t.Errorf("got %+v", g)
	}
	if g := get(t, p, `{"url":"`+asIP+`/to?url=/hello"}`); g.Status != http.StatusTeapot {
		t.Errorf("a redirect on the same host gave %+v", g)
	}
	_, err := call(t.Context(), p, "http_get", `{"url":"https://example.com/"}`)
	if err == nil || !strings.Contains(err.Message, `allowed_hosts = ["*.0.0.1", "example.com"]`) {
		t.Errorf("the line to add doesn't keep the hosts that are there: %v", err)
	}
}

func TestHTTPRedirectCannotEscape(t *testing.T) {
	asIP, asName := server(t)
	p := open(t, newRuntime(t), Spec{AllowedHosts: []string{"localhost"}})
	if g := get(t, p, `{"url":"`+asName+`/hello"}`); g.Status != http.StatusTeapot {
		t.Fatalf("got %+v", g)
	}
	_, err := call(t.Context(), p, "http_get", `{"url":"`+asName+`/to?url=`+url.QueryEscape(asIP+"/hello")+`"}`)
	if err == nil || err.Type != "PolicyError" || !strings.Contains(err.Message, `allowed_hosts = ["localhost", "127.0.0.1"]`) {
		t.Errorf("got %v", err)
	}
}

func TestHTTPFailures(t *testing.T) {
	asIP, _ := server(t)
	r := newRuntime(t)
	patient := open(t, r, Spec{AllowedHosts: []string{"127.0.0.1"}})
	brief := open(t, r, Spec{AllowedHosts: []string{"127.0.0.1"}, Timeout: time.Second})
	for name, tc := range map[string]struct{ url, typ, message string }{
		"no server":        {"http://127.0.0.1:1/?token=secret", "PluginError", "http_request: http://127.0.0.1:1: "},
		"endless redirect": {asIP + "/again", "PluginError", "more than 10 redirects"},
		"too slow":         {asIP + "/wait", "PluginTimeoutError", "ran longer than 1s"},
		"too big":          {asIP + "/big", "PluginError", "longer than 33554432 bytes"},
		"file":             {"file:///etc/passwd", "PluginError", "isn't an http or https URL"},
		"no URL":           {"http://[::1", "PluginError", "the URL can't be parsed"},
		"no host":          {"http:///x", "PluginError", "isn't an http or https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			p := patient
			if tc.typ == "PluginTimeoutError" {
				p = brief
			}
			_, err := call(t.Context(), p, "http_get", `{"url":"`+tc.url+`"}`)
			if err == nil || err.Type != tc.typ || !strings.Contains(err.Message, tc.message) {
				t.Errorf("got %v", err)
			}
			if err != nil && (strings.Contains(err.Message, "secret") || strings.Contains(err.Message, "wasm stack trace")) {
				t.Errorf("the message says too much: %s", err.Message)
			}
			mustCall(t, p, "noop", `{}`)
		})
	}
}

func FuzzCheckHost(f *testing.F) {
	for _, seed := range []string{"http://allowed.example", "https://ALLOWED.example.:443/x", "http://allowed.example@evil.example", "http://evil.example#allowed.example", "//allowed.example", "http://a.wild.example", "http://xwild.example", "ftp://allowed.example"} {
		f.Add(seed)
	}
	p := &Plugin{spec: Spec{Name: "p", AllowedHosts: []string{"allowed.example", "*.wild.example"}}}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil || p.checkHost(u) != nil {
			return
		}
		// Whatever passed must be a request that Go sends to one of the allowed hosts.
		req, err := http.NewRequest(http.MethodGet, text, nil)
		if err != nil {
			return
		}
		host := strings.ToLower(strings.TrimSuffix(req.URL.Hostname(), "."))
		if (req.URL.Scheme != "http" && req.URL.Scheme != "https") || host != "allowed.example" && !strings.HasSuffix(host, ".wild.example") {
			t.Fatalf("%q was allowed: it goes to %q", text, host)
		}
	})
}
