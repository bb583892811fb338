package main

// The words that issues are made of. Changing them changes the tracker: tests pin some of it.

const (
	kindBug = iota
	kindFeature
	kindDocs
	kindQuestion
	firstExtraLabel
	firstAreaLabel = firstExtraLabel + 6
)

var labels = []string{
	"bug", "enhancement", "documentation", "question",
	"good first issue", "help wanted", "priority/high", "needs triage", "regression", "🔥 urgent",
	"area/search", "area/editor", "area/sync", "area/auth", "area/export", "area/calendar", "area/mobile", "area/api",
	"area/billing", "area/i18n", "area/performance", "area/accessibility",
}

// parts belong to the area labels in turn.
var parts = []string{
	"Search", "Editor", "Sync", "Login", "PDF export", "Calendar", "Android app", "REST API",
	"Invoices", "Übersetzungen", "Startup", "Screen reader",
	"検索", "Rich-text editor", "Offline sync", "Single sign-on", "CSV export", "Календарь", "iOS app", "Webhooks",
	"Checkout", "Traduction", "Memory use", "Keyboard navigation",
}

type problem struct {
	text string
	kind int
}

var problems = []problem{
	{"crashes", kindBug}, {"hangs", kindBug}, {"shows an empty page", kindBug}, {"loses changes", kindBug},
	{"is very slow", kindBug}, {"returns 500 instead of 404", kindBug}, {"drops the last row", kindBug},
	{"rounds 0.1 + 0.2 wrongly", kindBug}, {"mangles emoji 👩‍👩‍👧", kindBug}, {"shows “�” instead of ü", kindBug},
	{"ignores the time zone", kindBug}, {"counts 2 147 483 647 items twice", kindBug},
	{"fails with \"permission denied\"", kindBug}, {"does not escape \\ and <script>", kindBug},
	{"leaks memory", kindBug}, {"sends the same e-mail twice", kindBug},
	{"should remember the last choice", kindFeature}, {"should support dark mode", kindFeature},
	{"should support right-to-left text (עברית, العربية)", kindFeature}, {"needs bulk actions", kindFeature},
	{"should show progress", kindFeature}, {"needs an undo", kindFeature}, {"should be scriptable", kindFeature},
	{"should accept ISO 8601 dates", kindFeature},
	{"is not documented", kindDocs}, {"has an outdated example", kindDocs}, {"has a typo in the tutorial", kindDocs},
	{"limits are nowhere explained", kindDocs},
	{"how is it meant to work?", kindQuestion}, {"is this expected?", kindQuestion},
}

var circumstances = []string{
	"after the update", "when the list is empty", "with more than 10,000 rows", "on a slow connection",
	"when two users edit at once", "if the name contains a quote", "with a Turkish locale (İ/ı)", "after midnight UTC",
	"in a private window", "when the disk is full", "with 4 KiB titles", "on the second try", "during the migration",
	"when JavaScript is off", "behind a proxy", "with a German keyboard (ß, ä, ö)", "when pasted from Word",
	"in the año 2038", "with combining characters (é vs é)", "when the token has expired", "on 29 February",
	"after sleep", "with négative numbers", "when zoomed to 200 %", "if the parent was deleted", "for 日本語 input",
	"with a trailing slash", "while offline", "when sorted by ↑ date", "on first start",
}

type person struct{ login, name string }

var people = []person{
	{"amara", "Amara Okafor"}, {"zoe-a", "Zoë Ångström"}, {"hanako", "山田 花子"}, {"nvan", "Nguyễn Văn An"},
	{"okoval", "Олена Коваль"}, {"mali", "محمد علي"}, {"renee", "Renée Dubois 🚀"}, {"jsmith", "John Smith"},
	{"priya", "प्रिया शर्मा"}, {"lukasz", "Łukasz Wójcik"}, {"sean-o", "Seán O’Brien"}, {"minji", "김민지"},
	{"tomas-n", "Tomás Novák"}, {"dora", "Δώρα Παπαδοπούλου"}, {"bjorn", "Björn Þórsson"}, {"chen", "陈伟"},
	{"fatima", "Fatima Zahra"}, {"ilse", "Ilse \"Billy\" Groß"}, {"noam", "נועם לוי"}, {"ana", "Ana María Núñez"},
	{"kofi", "Kofi Mensah"}, {"ghost", ""}, {"aylin", "Aylin Şahin"}, {"ravi", "Ravi Kumar"},
}

var (
	versions   = []string{"3.9.4", "4.0.0", "4.0.1", "4.1.0-beta.2", "4.1.0", "4.2.1", "5.0.0-rc.1", "main"}
	platforms  = []string{"Windows 11", "macOS 15.2", "Debian 13", "Android 15", "iOS 18.1", "Firefox 141", "Chromium 140", "Safari 18"}
	milestones = []string{"4.1", "4.2", "5.0", "Später", "backlog ♻"}

	reactionNames = [...]string{"+1", "-1", "laugh", "heart", "rocket", "eyes"}
)
