package config

import "time"

var mcpTable = table{
	name: "mcp",
	doc:  []string{"What agents are served, over standard input and output and at /mcp."},
	settings: []setting{
		{
			name: "max_sessions",
			doc: []string{
				"Agents that may be connected at once over HTTP. Each has a session of its own,",
				"with data of its own; more are refused.",
			},
			min: 1, max: 4096, unit: "sessions",
		},
		{
			name: "session_idle",
			doc: []string{
				"After how long without a request or an open stream such a session ends, and",
				"its data with it.",
			},
			min: int64(time.Second), max: int64(30 * 24 * time.Hour),
		},
	},
}
