package config

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSampleMeansTheDefaults: as it stands, and with every setting switched on,
// the sample is the defaults and the demo plugin.
func TestSampleMeansTheDefaults(t *testing.T) {
	want := Default()
	want.Plugins["issues"] = DefaultPlugin("builtin:issues")
	active := regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAll(Sample(), []byte("$1"))
	if bytes.Equal(active, Sample()) {
		t.Fatal("no setting of the sample is commented out")
	}
	for name, text := range map[string][]byte{"as it stands": Sample(), "all switched on": active} {
		got, f, _, err := loadText(t, string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
		if len(f.Warnings) != 0 {
			t.Errorf("%s: %v", name, f.Warnings)
		}
		if name == "all switched on" {
			for _, row := range Describe(got, f) {
				if row.Line == 0 {
					t.Errorf("the sample lacks %s.%s", row.Table, row.Key)
				}
			}
		}
	}
}

// TestExamplesInTheSample: what the sample offers as an example can be used.
func TestExamplesInTheSample(t *testing.T) {
	examples := 0
	for _, table := range tables {
		for _, s := range table.settings {
			if s.example == "" {
				continue
			}
			examples++
			name := strings.Replace(table.name, "NAME", "p", 1)
			text := "[" + name + "]\n" + s.name + " = " + s.example + "\n"
			if name == "plugins.p" {
				text += "source = \"builtin:issues\"\n"
			}
			if _, _, _, err := loadText(t, text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if examples < 5 {
		t.Errorf("only %d examples", examples)
	}
}

// TestEverySettingIsDescribed: each tagged field has a description with bounds
// where it's a number, and each description has a field.
func TestEverySettingIsDescribed(t *testing.T) {
	for _, c := range []struct {
		table table
		value any
	}{{serverTable, &Server{}}, {executorTable, &Executor{}}, {sessionTable, &Session{}}, {resultsTable, &Results{}}, {foldTable, &Fold{}}, {mcpTable, &MCP{}}, {pluginTable, &Plugin{}}} {
		var fields []string
		for f := range reflect.TypeOf(c.value).Elem().Fields() {
			fields = append(fields, f.Tag.Get("toml"))
		}
		if !slices.Equal(fields, names(c.table)) {
			t.Errorf("[%s] has fields %q and settings %q", c.table.name, fields, names(c.table))
		}
		for _, s := range c.table.settings {
			field := fieldOf(c.value, s.name)
			if len(s.doc) == 0 {
				t.Errorf("%s.%s has no explanation", c.table.name, s.name)
			}
			switch kindOf(field) {
			case "a whole number", "a size", "a duration":
				if s.max == 0 || s.min < 0 || s.min == 0 && s.name != "inline_capabilities" {
					t.Errorf("%s.%s has no bounds", c.table.name, s.name)
				}
			}
			if kindOf(field) == "a whole number" && s.unit == "" {
				t.Errorf("%s.%s has no unit", c.table.name, s.name)
			}
			if kindOf(field) == "a size" && !strings.HasSuffix(s.name, "_bytes") {
				t.Errorf("%s.%s is a size, and its name should end in _bytes", c.table.name, s.name)
			}
		}
	}
}

// TestDescribeHidesValues: what a person puts into env and config may be a
// secret, and the listing is made to be pasted into a report.
func TestDescribeHidesValues(t *testing.T) {
	const marker = "hunter2-marker"
	c, f, _, err := loadText(t, "[plugins.a]\nsource = 'builtin:issues'\nenv.TOKEN = '"+marker+"'\nconfig.password = '"+marker+"'")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range Describe(c, f) {
		if strings.Contains(row.Value, marker) {
			t.Errorf("%s shows the value: %s", row.Key, row.Value)
		}
		if row.Value == `{ "TOKEN" = … }` || row.Value == `{ "password" = … }` {
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d of the 2 names are shown", seen)
	}
}
