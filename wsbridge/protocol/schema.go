package protocol

import _ "embed"

// Schema is schema.json: every message as JSON Schema 2020-12. Its $defs hold one schema per payload type, named like the
// Go type, one per message ("message tool.call", "answer tool.call"), and all that one side sends ("from page", "from host").
//
//go:embed schema.json
var Schema string
