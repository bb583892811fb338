package config

import "time"

var mcpTable = table{
	name: "mcp",
	doc:  []string{"What agents are served, over standard input and output and at /mcp."},
	settings: []setting{
		{
			name: "expose",
			doc: []string{
				"Capabilities that are MCP tools of their own as well, for single look-ups without",
				"code: canonical names with * and ?, or tag:NAME. The tools are named like",
				`issues_list; "… as NAME" chooses another name, in which * is the tool's own.`,
				"Each one's schema is in every agent's context, so expose few.",
			},
			check:   checkExpose,
			example: `["plugin:orders/*", "tag:lookup", "plugin:issues/get as read_issue"]`,
		},
		{
			name: "inline_capabilities",
			doc: []string{
				"Up to this many capabilities are listed in the description of execute_code, so",
				"that an agent needs no search. 0 never lists any.",
			},
			min: 0, max: 100, unit: "capabilities",
		},
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
