package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolplane/toolplane/host/capability"
	"github.com/toolplane/toolplane/host/result"
)

func read(t testing.TB, client *mcp.ClientSession, uri string) (text, mime string, err error) {
	t.Helper()
	res, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", "", err
	}
	if res.CacheScope != "private" {
		t.Errorf("%s may be kept by anybody on the way: %q", uri, res.CacheScope)
	}
	if len(res.Contents) != 1 || res.Contents[0].URI != uri {
		t.Errorf("%s: %+v", uri, res.Contents)
	}
	return res.Contents[0].Text, res.Contents[0].MIMEType, nil
}

func TestResources(t *testing.T) {
	o := testOptions(t)
	o.Wait = func(context.Context) []string { return []string{"The plugin broken isn't available."} }
	o.Expose = NewExposure([]string{"plugin:issues/get", "plugin:nothing/*"}, o.Registry, nil)
	client := connect(t, o, nil)
	list, err := client.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	templates, err := client.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "toolplane://results/{handle}" {
		t.Errorf("%+v %v", templates, err)
	}
	for _, r := range list.Resources {
		text, mime, err := read(t, client, r.URI)
		if err != nil || mime != "text/markdown" || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: %s %v", r.URI, mime, err)
		}
	}
	manifest, _, _ := read(t, client, uriNamespace)
	for _, says := range []string{"Capabilities (3)", "`await issues_get(id=<integer>)` — plugin:issues/get", "left out", "broken isn't available", "issues_get: plugin:issues/get", "nothing matches `plugin:nothing/*`", "over 16 KiB are folded", "fresh interpreter", "30 s"} {
		if !strings.Contains(manifest, says) {
			t.Errorf("the manifest doesn't say %q:\n%s", says, manifest)
		}
	}
	put(t, o.Registry, "plugin:new", capability.Capability{Name: "plugin:new/one"})
	if manifest, _, _ := read(t, client, uriNamespace); !strings.Contains(manifest, "Capabilities (4)") || !strings.Contains(manifest, "plugin:new/one") {
		t.Error("the manifest isn't live")
	}
	var many []capability.Capability
	for i := range maxManifest {
		many = append(many, capability.Capability{Name: fmt.Sprintf("plugin:new/n%d", i)})
	}
	put(t, o.Registry, "plugin:new", many...)
	if manifest, _, _ := read(t, client, uriNamespace); !strings.Contains(manifest, "and 3 more") {
		t.Error("the manifest has no bound")
	}
	guide, _, _ := read(t, client, uriGuide)
	if len(guide) > 3000 || !strings.Contains(guide, "result_query") {
		t.Errorf("%d bytes: %s", len(guide), guide)
	}
	o.Store, o.Results = false, nil
	client = connect(t, o, nil)
	guide, _, _ = read(t, client, uriGuide)
	manifest, _, _ = read(t, client, uriNamespace)
	if strings.Contains(guide, "save_result") || strings.Contains(guide, "is folded") || !strings.Contains(manifest, "store is turned off") || !strings.Contains(manifest, "never folded") {
		t.Errorf("without a store:\n%s\n%s", guide, manifest)
	}
}

func TestStoredResultsAreResourcesOfTheirScope(t *testing.T) {
	o := testOptions(t)
	const value = "{\"id\": 9007199254740993, \"f\": 1.0, \"a\":1,\"a\":2, \"x\": \"<\u2028>\"}"
	mine, err := o.Results.SaveFold(result.Owner{Scope: o.Scope}, json.RawMessage(value))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := o.Results.SaveFold(result.Owner{Scope: "other"}, json.RawMessage(value))
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, o, nil)
	if text, mime, err := read(t, client, "toolplane://results/"+mine.Handle); err != nil || text != value || mime != "application/json" {
		t.Errorf("%s %s %v", text, mime, err)
	}
	misses := map[string]bool{}
	for _, handle := range []string{foreign.Handle, "res_AAAAAAAAAAAAAAAAAAAAAAAAAA", "", "a/b", "%00", "{x}", mine.Handle + "/"} {
		_, _, err := read(t, client, "toolplane://results/"+handle)
		if err == nil || strings.Contains(err.Error(), "res_") {
			t.Errorf("%q: %v", handle, err)
			continue
		}
		misses[err.Error()] = true
	}
	if len(misses) != 1 {
		t.Errorf("misses can be told apart: %v", misses)
	}
	if _, _, err := read(t, client, "toolplane://nothing"); err == nil {
		t.Error("an unknown resource is there")
	}
}
