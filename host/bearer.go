package host

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/toolplane/toolplane/host/token"
)

// bearers are the tokens that requests may present.
type bearers struct {
	tokens  *token.Store // may be nil
	secrets map[string]token.Secret
	logger  *slog.Logger
	log     limiter
}

// Subjects are named by how they were authenticated, so that none can be mistaken
// for another.
const (
	tokenSubject  = "token:"
	secretSubject = "secret:"
	joinSubject   = secretSubject + "join"
)

func newBearers(o Options) *bearers {
	b := &bearers{
		tokens: o.Tokens, secrets: map[string]token.Secret{}, logger: o.Logger.With("part", "http"),
		log: limiter{burst: 10, every: time.Minute, now: time.Now},
	}
	for name, s := range o.Secrets {
		b.secrets[secretSubject+name] = s
	}
	if !o.Join.IsZero() {
		b.secrets[joinSubject] = o.Join
	}
	return b
}

// What a refused request lacks.
var (
	errNoToken  = errors.New("it carries no bearer token")
	errBadToken = errors.New("its bearer token isn't valid: it is wrong, or was revoked, or has expired, or belongs to another origin")
)

// authenticate returns the subject that a request's token stands for. It compares
// with every secret and every token, however early one matches.
func (b *bearers) authenticate(r *http.Request) (subject string, err error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", errNoToken
	}
	scheme, presented, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", errNoToken
	}
	presented = strings.TrimSpace(presented)
	for name, s := range b.secrets {
		if s.Matches(presented) {
			subject = name
		}
	}
	if b.tokens != nil {
		if e, ok := b.tokens.Verify(presented); ok && e.AllowsOrigin(r.Header.Get("Origin")) {
			subject = tokenSubject + e.ID
		}
	}
	if subject == "" {
		return "", errBadToken
	}
	return subject, nil
}

// valid says whether the token that a subject stands for still is.
func (b *bearers) valid(subject string) bool {
	id, stored := strings.CutPrefix(subject, tokenSubject)
	if !stored {
		_, ok := b.secrets[subject]
		return ok
	}
	entries, err := b.tokens.List()
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.ID == id {
			return !e.Expired(time.Now())
		}
	}
	return false
}

// refuse answers 401 and says where a token comes from.
func (b *bearers) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if ok, missed := b.log.allow(); ok {
		b.logger.Warn("request without a valid token refused", "path", clip(r.URL.Path), "remote", r.RemoteAddr, "reason", err, "not_logged_before", missed)
	}
	challenge := `Bearer realm="toolplane"`
	if errors.Is(err, errBadToken) {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	answerText(w, http.StatusUnauthorized, fmt.Sprintf(
		"toolplane refuses this request: %v. Make a token with: toolplane token new NAME; and send it as: Authorization: Bearer TOKEN", err))
}
