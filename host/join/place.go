package join

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolplane/toolplane/host/token"
)

const (
	maxOfferBytes = 4096
	// maxOffers bounds the files that are looked at: hosts of one configuration,
	// the dead ones included that haven't been swept up yet.
	maxOffers = 32
	lockPoll  = 10 * time.Millisecond
)

// Place is where the hosts of one configuration leave word of themselves.
type Place struct {
	// Dir is the folder, such as [DefaultDir] names; it's made as needed, with mode
	// 0700.
	Dir string
	// Key tells configurations apart. It is part of file names.
	Key string
}

// DefaultDir is a folder beside the user's tokens.
func DefaultDir() (string, error) {
	path, err := token.DefaultPath()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(path), "hosts"), nil
}

// offer is what a file says.
type offer struct {
	URL     string    `json:"url"`
	Token   string    `json:"token"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Lock keeps other processes from looking for a host or starting one for the same
// configuration, so that two that begin at once end up with one host. It waits until
// ctx ends.
func (p Place) Lock(ctx context.Context) (unlock func(), err error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	f, err := openLock(filepath.Join(p.Dir, p.Key+".lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the hosts of this configuration: %w", err)
	}
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		held, err := tryLock(f)
		if held {
			return func() { _ = f.Close() }, nil // which unlocks
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock the hosts of this configuration: %w", err)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock the hosts of this configuration: another process holds %s: %w", f.Name(), ctx.Err())
		}
	}
}

func (p Place) prepare() error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("prepare the folder of running hosts: %w", err)
	}
	return checkOwn(p.Dir, 0o022)
}

// Offer leaves word of a host. What it returns takes it back.
func (p Place) Offer(url string, secret token.Secret) (withdraw func(), err error) {
	fail := func(err error) (func(), error) {
		return nil, fmt.Errorf("leave word of this host, so that others can join it: %w", err)
	}
	if err := p.prepare(); err != nil {
		return fail(err)
	}
	text, err := json.Marshal(offer{URL: url, Token: secret.Reveal(), PID: os.Getpid(), Started: time.Now().UTC()})
	if err != nil {
		return fail(err)
	}
	name := filepath.Join(p.Dir, p.Key+"-"+strings.ToLower(rand.Text()))
	// Under another name first, so that nobody reads half of it.
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(name+".new", name+".json")
	}
	if err != nil {
		_ = os.Remove(name + ".new")
		return fail(err)
	}
	return func() { _ = os.Remove(name + ".json") }, nil
}

// offers are those that can be read, newest first. Files of others are passed over.
func (p Place) offers() map[string]offer {
	out := map[string]offer{}
	names, err := filepath.Glob(filepath.Join(p.Dir, p.Key+"-*.json"))
	if err != nil || checkOwn(p.Dir, 0o022) != nil {
		return out
	}
	for _, name := range names[:min(len(names), maxOffers)] {
		if o, err := readOffer(name); err == nil {
			out[name] = o
		}
	}
	return out
}

func readOffer(name string) (offer, error) {
	var o offer
	if err := checkOwn(name, 0o077); err != nil {
		return o, err
	}
	f, err := os.Open(name)
	if err != nil {
		return o, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxOfferBytes))
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, err
	}
	if !strings.HasPrefix(o.URL, "http://") && !strings.HasPrefix(o.URL, "https://") {
		return o, fmt.Errorf("no address")
	}
	return o, nil
}

// Find returns a host that runs and proves that it's the one that left word, or
// nil. Word of one that's gone is taken away. Those whose address is among except
// are passed over.
func (p Place) Find(ctx context.Context, except ...string) *Host {
	offers := p.offers()
	names := make([]string, 0, len(offers))
	for name := range offers {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return offers[b].Started.Compare(offers[a].Started) })
	for _, name := range names {
		o := offers[name]
		secret, err := token.Wrap(o.Token)
		if err != nil || slices.Contains(except, o.URL) {
			continue
		}
		h := &Host{URL: o.URL, secret: secret}
		switch err := h.Check(ctx); {
		case err == nil:
			return h
		case errors.Is(err, ErrGone):
			_ = os.Remove(name)
		}
	}
	return nil
}
