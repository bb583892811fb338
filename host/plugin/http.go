package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/toolplane/toolplane/host/capability"
)

const (
	maxRedirects    = 10
	maxHTTPResponse = 50 << 20
)

// httpState is what http_status_code and http_headers answer from.
type httpState struct {
	status  int32
	headers map[string]string
}

// policyError says that a plugin tried what its configuration doesn't grant.
type policyError struct {
	plugin string
	url    string // scheme and host only: the rest may hold secrets
	grant  string // the line to add
}

func (e *policyError) Error() string {
	return fmt.Sprintf("%s isn't allowed; to allow it, write `%s`", e.url, e.grant)
}

func (e *policyError) capabilityError(what string) *capability.Error {
	return because(e, capability.PermissionError, "PolicyError",
		"%s asked for %s, which plugin %s isn't allowed to talk to; to allow it, write `%s` in the configuration", what, e.url, e.plugin, e.grant)
}

// newHTTPClient returns the client that every plugin of a Runtime shares. The hosts are checked by the caller.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           64,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        30 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			inst, ok := req.Context().Value(instanceKey{}).(*instance)
			if !ok {
				return errors.New("not a plugin's request")
			}
			return inst.p.checkHost(req.URL)
		},
	}
}

// checkHost returns a *policyError unless the configuration allows the URL's host.
func (p *Plugin) checkHost(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if u.Scheme != "http" && u.Scheme != "https" || host == "" {
		return fmt.Errorf("%.100q isn't an http or https URL", u.Redacted())
	}
	if matching(p.spec.AllowedHosts, host) != "" {
		return nil
	}
	quoted := make([]string, 0, len(p.spec.AllowedHosts)+1)
	for _, h := range append(slices.Clone(p.spec.AllowedHosts), host) {
		quoted = append(quoted, fmt.Sprintf("%q", h))
	}
	return &policyError{
		plugin: p.spec.Name, url: u.Scheme + "://" + clip(u.Host, 300),
		grant: fmt.Sprintf("[plugins.%s] allowed_hosts = [%s]", p.spec.Name, strings.Join(quoted, ", ")),
	}
}

// httpRequest implements http_request(request, body) -> response body. As with other Extism hosts, what keeps the
// request from being answered at all (not allowed, no connection) ends the guest's call.
func httpRequest(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
	inst.http = httpState{}
	text, err := cp.ReadBytes(stack[0])
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	var request extism.HttpRequest
	if err := json.Unmarshal(text, &request); err != nil {
		return fmt.Errorf("the request isn't what Extism's PDKs send: %w", err)
	}
	var body io.Reader
	if stack[1] != 0 {
		b, err := cp.ReadBytes(stack[1])
		if err != nil {
			return fmt.Errorf("reading the request's body: %w", err)
		}
		body = bytes.NewReader(b)
	}
	u, err := url.Parse(request.Url)
	if err != nil {
		return errors.New("the URL can't be parsed")
	}
	if err := inst.p.checkHost(u); err != nil {
		return err
	}
	ctx := context.WithValue(inst.ctx, instanceKey{}, inst)
	req, err := http.NewRequestWithContext(ctx, strings.ToUpper(request.Method), request.Url, body)
	if err != nil {
		return errors.New("the request's method or URL is invalid")
	}
	for name, value := range request.Headers {
		req.Header.Set(name, value)
	}
	resp, err := inst.p.client.Do(req)
	if err != nil {
		return withoutQuery(err)
	}
	defer func() { _ = resp.Body.Close() }()
	limit := min(int64(inst.memory.limit/2), maxHTTPResponse)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return fmt.Errorf("reading the response: %w", withoutQuery(err))
	}
	if int64(len(answer)) > limit {
		return fmt.Errorf("the response is longer than %d bytes, the most that plugin %s can take (half of memory_mb, 50 MiB at most)", limit, inst.p.spec.Name)
	}
	inst.http.status = int32(resp.StatusCode)
	inst.http.headers = make(map[string]string, len(resp.Header))
	for name, values := range resp.Header {
		inst.http.headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	stack[0], err = inst.allocate(cp, answer)
	return err
}

// withoutQuery takes the URL out of an error of the HTTP client, which may hold secrets.
func withoutQuery(err error) error {
	var ue *url.Error
	if !errors.As(err, &ue) {
		return err
	}
	host := "the server"
	if u, perr := url.Parse(ue.URL); perr == nil {
		host = u.Scheme + "://" + u.Host
	}
	return fmt.Errorf("%s: %w", host, ue.Err)
}

func httpStatusCode(inst *instance, _ *extism.CurrentPlugin, stack []uint64) error {
	stack[0] = uint64(uint32(inst.http.status))
	return nil
}

func httpHeaders(inst *instance, cp *extism.CurrentPlugin, stack []uint64) error {
	if inst.http.headers == nil {
		stack[0] = 0
		return nil
	}
	b, err := json.Marshal(inst.http.headers)
	if err != nil {
		return err
	}
	stack[0], err = inst.allocate(cp, b)
	return err
}
