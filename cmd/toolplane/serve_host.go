package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/join"
	"github.com/toolplane/toolplane/host/token"
)

// tokenVar is a token that /mcp takes besides those of "toolplane token new".
const tokenVar = "TOOLPLANE_TOKEN"

// openServing starts a host that others use as well: agents over HTTP with a token,
// and, unless place is zero, processes of this user that find word of it there. The
// caller ends it with what is returned.
func (a *app) openServing(ctx context.Context, cfg *config.Config, place join.Place, logLevel, listen string) (h *host.Host, end func(), err error) {
	o := host.Options{Listen: listen, Secrets: map[string]token.Secret{}}
	if text := a.getenv(tokenVar); text != "" {
		secret, err := token.Wrap(text)
		if err != nil {
			return nil, nil, usage("%s: %w", tokenVar, err)
		}
		o.Secrets["environment"] = secret
	}
	if o.Tokens, err = a.tokens(); err != nil {
		a.complain("toolplane: warning: no token works but that of %s: %v\n", tokenVar, err)
	}
	if place != (join.Place{}) {
		o.Join = token.Generate()
	}
	if h, err = a.open(ctx, cfg, logLevel, o); err != nil {
		return nil, nil, err
	}
	withdraw := func() {}
	if place != (join.Place{}) {
		if taken, err := place.Offer(h.URL(), o.Join); err != nil {
			a.complain("toolplane: warning: %v\n", err)
		} else {
			withdraw = taken
		}
	}
	return h, func() {
		withdraw() // first, so that nobody joins a host that ends
		a.close(h)
	}, nil
}

// place is where hosts of a configuration are found: that of the same file, with
// the same settings and flags, wherever they listen.
func place(cfg *config.Config, found config.Found) (join.Place, error) {
	dir, err := join.DefaultDir()
	if err != nil {
		return join.Place{}, err
	}
	path := found.Path
	if path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return join.Place{}, fmt.Errorf("find the configuration's folder: %w", err)
		}
	}
	same := *cfg
	same.Server.Listen = ""
	text, err := json.Marshal(struct {
		Path   string
		Config config.Config
	}{path, same})
	if err != nil {
		return join.Place{}, fmt.Errorf("compare configurations: %w", err)
	}
	sum := sha256.Sum256(text)
	return join.Place{Dir: dir, Key: hex.EncodeToString(sum[:12])}, nil
}
