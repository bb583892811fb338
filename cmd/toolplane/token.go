package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host/token"
)

// tokens opens the user's tokens.
func (a *app) tokens() (*token.Store, error) {
	path, err := token.DefaultPath()
	if err != nil {
		return nil, err
	}
	return token.Open(token.Options{Path: path})
}

func (a *app) token() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of agents that connect over HTTP",
		Long: `Agents that connect to /mcp of a running "toolplane serve" present a token. Tokens
are kept hashed in the user's state folder, and count at once for every host of
this user. Agents that start "toolplane serve mcp" need none.`,
		Example: `  toolplane token new "editor on my laptop"
  toolplane token list
  toolplane token revoke abcd2345`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return group(c, args)
			}
			return nil
		},
		RunE: group,
	}
	c.AddCommand(a.tokenNew(), a.tokenList(), a.tokenRevoke())
	return c
}

// tokenMade is what "token new --json" prints.
type tokenMade struct {
	token.Entry
	Token string `json:"token"`
}

func (a *app) tokenNew() *cobra.Command {
	var expires string
	var asJSON bool
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a token and print it, this once",
		Long: `Makes a token and prints it to standard output, this once: only its hash is kept.
NAME says for you what it's for.`,
		Example: `  toolplane token new "editor on my laptop"
  TOKEN=$(toolplane token new ci --expires 30d)`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("%s needs one name, such as \"editor on my laptop\"; it got %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			ttl, err := parseTTL(expires)
			if err != nil {
				return err
			}
			store, err := a.tokens()
			if err != nil {
				return err
			}
			secret, entry, err := store.Create(args[0], token.CreateOptions{TTL: ttl})
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if asJSON {
				return a.printJSON(tokenMade{entry, secret.Reveal()})
			}
			a.printf("%s\n", secret.Reveal())
			until := "It doesn't expire."
			if !entry.Expires.IsZero() {
				until = "It's valid until " + entry.Expires.Local().Format(time.DateTime) + "."
			}
			a.complain("This is shown once: keep it now. %s To take it back: toolplane token revoke %s\n", until, entry.ID)
			a.complain("Agents send it to http://%s/mcp as: Authorization: Bearer TOKEN\n", config.Default().Server.Listen)
			return nil
		},
	}
	c.Flags().StringVar(&expires, "expires", "", "how long it's valid, such as 12h or 30d (default: until it's revoked)")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, with the token in it")
	return c
}

// parseTTL reads a duration that may be in days.
func parseTTL(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseUint(number, 10, 16) // which can't overflow a duration
		if err == nil && days > 0 {
			return time.Duration(days) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, usage("--expires: %q isn't a duration, such as 12h or 30d", text)
}

func (a *app) tokenList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens, never their secrets",
		Long:    "Lists the tokens that there are, those that have expired too. Their secrets can't be had again.",
		Example: "  toolplane token list\n  toolplane token list --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.tokens()
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(entries)
			}
			if len(entries) == 0 {
				a.printf("There are no tokens. Make one with: toolplane token new NAME\n")
				return nil
			}
			return a.printTokens(entries, time.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (a *app) printTokens(entries []token.Entry, now time.Time) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tNAME\tKIND\tCREATED\tLAST USED\tEXPIRES")
	for _, e := range entries {
		expires := "never"
		switch {
		case e.Expired(now):
			expires = "has expired"
		case !e.Expires.IsZero():
			expires = e.Expires.Local().Format(time.DateTime)
		}
		used := "never"
		if !e.LastUsed.IsZero() {
			used = e.LastUsed.Local().Format(time.DateTime)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, plain(e.Name), e.Kind, e.Created.Local().Format(time.DateTime), used, expires)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.printf("%s", b.String())
	return nil
}

func (a *app) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID...",
		Short:   "Take tokens back, for every running host at once",
		Long:    "Takes tokens back. Requests that present one are refused from then on, and its\nsessions end within seconds. toolplane token list shows the ids.",
		Example: "  toolplane token revoke abcd2345",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("%s needs the id of a token; toolplane token list shows them", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.tokens()
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := store.Revoke(id); err != nil {
					return fmt.Errorf("%q: %w", id, err)
				}
				a.printf("Revoked %s.\n", id)
			}
			return nil
		},
	}
}
