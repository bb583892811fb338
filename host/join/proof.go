package join

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/toolplane/toolplane/host/token"
)

// Path is where a host that may be joined answers challenges: POST with the
// challenge as the body.
const Path = "/join"

// MaxChallengeBytes bounds a challenge.
const MaxChallengeBytes = 128

// Proof answers a challenge as only who knows the secret can. Without it, whoever
// came to listen on the address of a host that died would be told the token, and
// could pass itself off as the host.
func Proof(secret token.Secret, challenge []byte) string {
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	// What stands in front keeps the answer from being of use for anything else.
	mac.Write([]byte("toolplane join 1\n"))
	mac.Write(challenge)
	return hex.EncodeToString(mac.Sum(nil))
}
