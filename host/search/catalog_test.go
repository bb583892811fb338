package search

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolplane/toolplane/host/capability"
)

// tool is a line of the catalog: arguments are "name type description".
func tool(name, title, description, tags string, arguments ...string) capability.Capability {
	properties := map[string]any{}
	var required []string
	for _, a := range arguments {
		parts := strings.SplitN(a, " ", 3)
		argument, optional := strings.CutSuffix(parts[0], "?")
		if !optional {
			required = append(required, argument)
		}
		properties[argument] = map[string]any{"type": parts[1], "description": parts[2]}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	return capability.Capability{Name: name, Title: title, Description: description, Tags: strings.Fields(tags), InputSchema: raw}
}

// catalog is what a person with a dozen providers has.
var catalog = []capability.Capability{
	tool("plugin:issues/list", "List issues", "Lists issues of the tracker, newest first, with their labels and authors.", "tracker lookup",
		"count? integer How many to return.", "offset? integer Where to begin.", "state? string Only open or closed ones.", "label? string Only those with this label."),
	tool("plugin:issues/get", "Get an issue", "Returns one issue with its body, comments and reactions.", "tracker lookup", "id integer The issue's number."),
	tool("plugin:issues/search", "Search issues", "Full-text search over titles and bodies.", "tracker lookup", "query string Words to look for.", "limit? integer At most so many."),
	tool("plugin:issues/create", "Create an issue", "Opens a new issue.", "tracker write", "title string One line.", "body? string Markdown."),
	tool("plugin:issues/close", "Close an issue", "Marks an issue as done.", "tracker write", "id integer The issue's number.", "reason? string Why."),
	tool("plugin:issues/add_comment", "Comment on an issue", "Adds a comment to an issue.", "tracker write", "id integer The issue's number.", "text string Markdown."),
	tool("plugin:issues/set_labels", "Set labels", "Replaces the labels of an issue.", "tracker write", "id integer The issue's number.", "labels array All labels."),

	tool("mcp:github/search_repositories", "Search repositories", "Finds repositories by name, topic, stars or language.", "code lookup", "query string GitHub search syntax.", "perPage? integer Results a page."),
	tool("mcp:github/search_code", "Search code", "Finds files that contain a text, in any repository you can read.", "code lookup", "q string What to look for."),
	tool("mcp:github/search_issues", "Search issues and pull requests", "Finds issues and pull requests across repositories.", "code lookup", "q string GitHub search syntax.", "sort? string created, updated or comments."),
	tool("mcp:github/get_file_contents", "Get file contents", "Returns the contents of a file or directory at a ref.", "code lookup", "owner string Account.", "repo string Repository.", "path string File path.", "branch? string Branch or commit."),
	tool("mcp:github/create_pull_request", "Create a pull request", "Proposes to merge one branch into another.", "code write", "owner string Account.", "repo string Repository.", "title string Title.", "head string Branch with the changes.", "base string Branch to merge into."),
	tool("mcp:github/merge_pull_request", "Merge a pull request", "Merges a pull request by merge commit, squash or rebase.", "code write", "owner string Account.", "repo string Repository.", "pullNumber integer Number."),
	tool("mcp:github/list_commits", "List commits", "Lists the commits of a branch.", "code lookup", "owner string Account.", "repo string Repository.", "sha? string Branch or commit."),
	tool("mcp:github/create_branch", "Create a branch", "Makes a branch from another one.", "code write", "owner string Account.", "repo string Repository.", "branch string New name."),
	tool("mcp:github/fork_repository", "Fork a repository", "Copies a repository to your account.", "code write", "owner string Account.", "repo string Repository."),
	tool("mcp:github/list_workflow_runs", "List workflow runs", "Lists runs of GitHub Actions, with their conclusions.", "code ci lookup", "owner string Account.", "repo string Repository."),

	tool("plugin:orders/list", "List orders", "Lists customer orders in a date range.", "shop lookup", "from string First day.", "to string Last day.", "status? string paid, shipped or refunded."),
	tool("plugin:orders/fetch", "Fetch an order", "Returns one order with its lines and payments.", "shop lookup", "order_id string Order number."),
	tool("plugin:orders/refund", "Refund an order", "Gives the money of an order back, in full or in part.", "shop write", "order_id string Order number.", "amount? number How much."),
	tool("plugin:orders/export", "Export orders", "Writes orders as CSV or Excel.", "shop", "from string First day.", "to string Last day.", "format? string csv or xlsx."),
	tool("plugin:customers/find", "Find customers", "Finds customers by name, e-mail address or phone number.", "shop lookup", "text string What is known."),
	tool("plugin:customers/get", "Get a customer", "Returns one customer with addresses.", "shop lookup", "id string Customer number."),
	tool("plugin:inventory/stock_levels", "Stock levels", "How many of each article are in which warehouse.", "shop lookup", "sku? string Article number.", "warehouse? string Warehouse."),
	tool("plugin:inventory/reserve", "Reserve stock", "Sets articles aside for an order.", "shop write", "sku string Article number.", "quantity integer How many."),
	tool("plugin:invoices/send", "Send an invoice", "Mails an invoice as PDF.", "shop billing write", "invoice_id string Invoice number.", "to? string E-mail address."),
	tool("plugin:invoices/overdue", "Overdue invoices", "Lists invoices that should have been paid.", "shop billing lookup", "days? integer Days past due."),

	tool("plugin:csv/parse", "Parse CSV", "Turns comma-separated text into rows.", "data text", "text string The CSV.", "delimiter? string Between columns.", "header? boolean Whether the first row has names."),
	tool("plugin:csv/write", "Write CSV", "Turns rows into comma-separated text.", "data text", "rows array Rows."),
	tool("plugin:json/query", "Query JSON", "Evaluates a JMESPath expression.", "data", "document object Any value.", "expression string JMESPath."),
	tool("plugin:xml/to_json", "Convert XML to JSON", "Converts an XML document.", "data text", "xml string The document."),
	tool("plugin:text/summarize", "Summarize a text", "Shortens a text to its main points.", "text", "text string Anything.", "sentences? integer How many."),
	tool("plugin:text/translate", "Translate a text", "Translates between languages.", "text", "text string Anything.", "target string Language code."),
	tool("plugin:text/detectLanguage", "Detect the language", "Tells which language a text is in.", "text", "text string Anything."),
	tool("plugin:pdf/extract_text", "Extract text from a PDF", "Returns the text of each page.", "documents text", "url string Where the PDF is.", "pages? string Such as 1-3."),
	tool("plugin:image/resize", "Resize an image", "Scales a picture, keeping its proportions.", "images", "image string Base64.", "width integer Pixels."),
	tool("plugin:image/ocr", "Read text in an image", "Optical character recognition of a scanned page.", "images text", "image string Base64."),
	tool("plugin:hash/sha256", "SHA-256", "Hashes bytes.", "crypto", "data string Base64."),
	tool("plugin:qr/encode", "Make a QR code", "Draws a QR code as PNG.", "images", "text string What it says."),

	tool("mcp:postgres/query", "Run a SQL query", "Runs a read-only SQL statement against the PostgreSQL database.", "database lookup", "sql string A SELECT."),
	tool("mcp:postgres/list_tables", "List tables", "Lists tables with their columns and sizes.", "database lookup", "schema? string Schema."),
	tool("mcp:postgres/explain", "Explain a query", "Shows the plan of a SQL statement.", "database", "sql string A SELECT."),
	tool("mcp:slack/send_message", "Send a message", "Posts a message to a channel or a person.", "chat write", "channel string Channel or user.", "text string Message."),
	tool("mcp:slack/list_channels", "List channels", "Lists the channels you are in.", "chat lookup", "cursor? string Where to go on."),
	tool("mcp:slack/search_messages", "Search messages", "Finds messages by words, author or date.", "chat lookup", "query string Words."),
	tool("mcp:slack/upload_file", "Upload a file", "Shares a file in a channel.", "chat write", "channel string Channel.", "content string Base64."),
	tool("mcp:calendar/list_events", "List events", "Lists appointments and meetings between two times.", "calendar lookup", "timeMin string Begin.", "timeMax string End."),
	tool("mcp:calendar/create_event", "Create an event", "Schedules a meeting and invites people.", "calendar write", "summary string Title.", "start string Begin.", "attendees? array E-mail addresses."),
	tool("mcp:calendar/free_busy", "Free or busy", "Tells when people have time.", "calendar lookup", "people array E-mail addresses."),
	tool("mcp:weather/forecast", "Weather forecast", "Temperature, rain and wind for the next days.", "lookup", "latitude number North.", "longitude number East.", "days? integer How many."),
	tool("mcp:maps/geocode", "Geocode an address", "Turns an address into coordinates.", "geo lookup", "address string Street and city."),
	tool("mcp:maps/directions", "Directions", "Finds a route between two places.", "geo lookup", "origin string From.", "destination string To.", "mode? string driving, cycling or walking."),
	tool("mcp:browser/navigate", "Open a page", "Loads a URL in the browser.", "web", "url string Address."),
	tool("mcp:browser/screenshot", "Take a screenshot", "Returns a picture of the page.", "web images", "fullPage? boolean Beyond the window."),
	tool("mcp:kubernetes/list_pods", "List pods", "Lists pods with status, restarts and age.", "cluster lookup", "namespace? string Namespace."),
	tool("mcp:kubernetes/get_logs", "Get logs", "Returns what a container has logged.", "cluster lookup", "pod string Pod.", "tail? integer Lines."),
	tool("mcp:kubernetes/scale_deployment", "Scale a deployment", "Sets the number of replicas.", "cluster write", "name string Deployment.", "replicas integer How many."),

	tool("cli:git", "Git", "Runs git, the version control system.", "code program", "args array Arguments."),
	tool("cli:rg", "ripgrep", "Searches files by regular expression.", "program", "args array Arguments."),
	tool("cli:ffmpeg", "FFmpeg", "Converts and cuts audio and video.", "media program", "args array Arguments."),
	tool("cli:jq", "jq", "Transforms JSON on the command line.", "data program", "args array Arguments."),
}

// manyCapabilities are n of them, from 40 providers, in many words.
func manyCapabilities(n int) []capability.Capability {
	verbs := strings.Fields("list get create update delete search export import validate archive restore assign approve reject schedule cancel merge split compare summarize translate convert upload download monitor")
	nouns := strings.Fields("account invoice payment shipment customer contract employee project milestone document template report dashboard alert metric incident deployment container secret certificate network subnet volume snapshot backup repository branch commit release package license ticket survey campaign audience segment product catalog")
	out := make([]capability.Capability, n)
	for i := range out {
		verb, noun, other := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)], nouns[(i*7)%len(nouns)]
		out[i] = tool(fmt.Sprintf("mcp:server%02d/%s_%s_%d", i%40, verb, noun, i/len(verbs)/len(nouns)),
			verb+" "+noun, fmt.Sprintf("Will %s one %s or several of them, for each %s that belongs to it; %d at most. "+
				"Answers with what was changed, and with a reason for each that was not.", verb, noun, other, i),
			"tag"+fmt.Sprint(i%7)+" "+noun,
			noun+"_id string Identifier of the "+noun+".", "include_"+other+"? boolean Whether the "+other+" is returned as well.", "limit? integer How many.")
	}
	return out
}
