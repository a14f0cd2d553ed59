package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func nested(open, close string, n int) string {
	return strings.Repeat(open, n) + strings.Repeat(close, n)
}

// Core-wire-v2 section 2 (decoding limits) and design section 8 (strict JSON).
func TestParseObjectRules(t *testing.T) {
	for _, tc := range []struct {
		name string
		text string
		rule Rule // "" is accepted
	}{
		{"empty object", `{}`, ""},
		{"space around", " \t\r\n{ \"a\" : 1 , \"b\" : [ ] } \n", ""},
		{"escaped quotes and brackets in strings", `{"a\"}":"\\","b":"{[\\\""}`, ""},
		{"surrogate pair", `{"a":"\ud83d\ude00"}`, ""},
		{"name differing in case", `{"To":1,"to":2}`, ""},
		{"same name at two depths", `{"a":{"a":{"a":1}}}`, ""},
		{"64 levels", `{"a":` + nested("[", "]", 63) + `}`, ""},
		{"65 levels of arrays", `{"a":` + nested("[", "]", 64) + `}`, RuleDepth},
		{"65 levels of objects", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), RuleDepth},
		{"brackets in strings do not count", `{"a":"` + strings.Repeat("[{", 200) + `"}`, ""},
		{"levels beside each other do not add up", `{"a":[` + strings.Repeat("[],", 200) + `[]]}`, ""},
		{"largest double", `{"a":1.7976931348623157e308}`, ""},
		{"overflowing double", `{"a":1e999}`, RuleNumber},
		{"overflowing negative", `{"a":-1.8e308}`, RuleNumber},
		{"overflow in a nested value", `{"a":{"b":[0,{"c":1E400}]}}`, RuleNumber},
		{"overflow without exponent", `{"a":` + strings.Repeat("9", 400) + `.5}`, RuleNumber},
		{"underflow is zero", `{"a":1e-999}`, ""},
		{"4300 digits", `{"a":` + strings.Repeat("9", 4300) + `}`, ""},
		{"4300 digits and a sign", `{"a":-` + strings.Repeat("9", 4300) + `}`, ""},
		{"4301 digits", `{"a":` + strings.Repeat("9", 4301) + `}`, RuleNumber},
		{"NaN", `{"a":NaN}`, RuleSyntax},
		{"Infinity", `{"a":-Infinity}`, RuleSyntax},
		{"hex", `{"a":0x10}`, RuleSyntax},
		{"leading zero", `{"a":01}`, RuleSyntax},
		{"leading plus", `{"a":+1}`, RuleSyntax},
		{"bare point", `{"a":1.}`, RuleSyntax},
		{"comment", `{"a":1/**/}`, RuleSyntax},
		{"trailing comma", `{"a":1,}`, RuleSyntax},
		{"single quotes", `{'a':1}`, RuleSyntax},
		{"byte order mark", "\ufeff{}", RuleSyntax},
		{"two values", `{}{}`, RuleSyntax},
		{"nothing", ``, RuleSyntax},
		{"only space", `  `, RuleSyntax},
		{"control character in a string", "{\"a\":\"\x01\"}", RuleSyntax},
		{"invalid UTF-8", "{\"a\":\"\xff\xfe\"}", RuleSyntax},
		{"overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", RuleSyntax},
		{"raw surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", RuleSyntax},
		{"lone high surrogate", `{"a":"\ud800"}`, RuleSyntax},
		{"lone low surrogate", `{"a":"\udc00x"}`, RuleSyntax},
		{"surrogates in the wrong order", `{"a":"\ude00\ud83d"}`, RuleSyntax},
		{"lone surrogate in a name", `{"\ud800":1}`, RuleSyntax},
		{"name twice", `{"a":1,"a":1}`, RuleDuplicate},
		{"name twice, once escaped", `{"a":1,"\u0061":2}`, RuleDuplicate},
		{"name twice in an unknown member", `{"x":[{"q":{"a":1,"b":2,"a":3}}]}`, RuleDuplicate},
		{"array", `[1,2]`, RuleObject},
		{"null", `null`, RuleObject},
		{"string", `"text"`, RuleObject},
		{"number", ` 7 `, RuleObject},
		{"array too deep is malformed first", nested("[", "]", 65), RuleDepth},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := ParseObject([]byte(tc.text), Limits{})
			checkRule(t, err, tc.rule)
			want, isObject, naiveErr := naiveParse(tc.text, DefaultMaxDepth)
			if (err == nil) != (naiveErr == nil && isObject) {
				t.Fatalf("the naive reader says %v, object %v", naiveErr, isObject)
			}
			if err == nil {
				if diff := cmp.Diff(want, append([]Member(nil), o.Members...)); diff != "" {
					t.Errorf("members (-naive +fast):\n%s", diff)
				}
			}
		})
	}
}

func checkRule(t *testing.T, err error, want Rule) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var e *JSONError
	if !errors.As(err, &e) || e.Rule != want {
		t.Fatalf("got %v, want rule %q", err, want)
	}
	target := ErrMalformed
	switch want {
	case RuleObject, RuleOwned, RuleMember, RuleShape:
		target = ErrNotObject
	case RuleSize:
		target = ErrTooLarge
	}
	if !errors.Is(err, target) {
		t.Errorf("%v is not %v", err, target)
	}
}

func TestParseObjectLimits(t *testing.T) {
	text := `{"a":[[1]]}`
	for _, tc := range []struct {
		lim  Limits
		rule Rule
	}{
		{Limits{MaxBytes: len(text)}, ""},
		{Limits{MaxBytes: len(text) - 1}, RuleSize},
		{Limits{MaxDepth: 3}, ""},
		{Limits{MaxDepth: 2}, RuleDepth},
	} {
		_, err := ParseObject([]byte(text), tc.lim)
		checkRule(t, err, tc.rule)
	}
	_, err := ParseObject([]byte(strings.Repeat(" ", 1<<20)+"{}"), Limits{})
	checkRule(t, err, RuleSize)
}

// An error names rule and place; the text itself may be a secret.
func TestErrorsHoldNoInput(t *testing.T) {
	for _, text := range []string{
		`{"secret":1,"secret":2}`, `{"secret":"secret` + "\x00" + `"}`, `{"secret":secret}`, `["secret"]`,
	} {
		if _, err := ParseObject([]byte(text), Limits{}); err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "secret") {
			t.Errorf("%s: %v", text, err)
		}
		var into struct{ Other int }
		if err := Unmarshal([]byte(text), &into); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Unmarshal %s: %v", text, err)
		}
	}
	var into struct {
		Secret int `json:"secret"`
	}
	for _, text := range []string{`{"secret":"secret"}`, `{"secret":1,"secret2":2}`} {
		if err := Unmarshal([]byte(text), &into); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Unmarshal %s: %v", text, err)
		}
	}
}

// A frame cut anywhere is refused: no prefix of an object is an object.
func TestParseObjectTruncated(t *testing.T) {
	frame := `{"sender":"é\u00e9\ud83d\ude00","n":-1.5e+3,"t":[true,false,null,{"x":{}}]}`
	for n := range len(frame) {
		if _, err := ParseObject([]byte(frame[:n]), Limits{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("prefix of %d bytes: %v", n, err)
		}
	}
}

func TestValuesAliasTheInput(t *testing.T) {
	text := []byte(`{"a" : [1, 2]  ,"b":"x"}`)
	o, err := ParseObject(text, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := o.Get("a")
	if string(v) != "[1, 2]" || cap(v) != len(v) {
		t.Errorf("value %q with capacity %d", v, cap(v))
	}
	text[8] = '7'
	if string(v) != "[7, 2]" {
		t.Errorf("value %q does not alias the text", v)
	}
	if _, ok := o.Get("A"); ok {
		t.Error("names must be compared exactly")
	}
}

func TestRaw(t *testing.T) {
	type view struct {
		Kind   byte
		Text   string
		IsText bool
		Int    int64
		IsInt  bool
		Float  float64
		IsFlt  bool
		Bool   bool
		IsBool bool
		Truthy bool
	}
	for text, want := range map[string]view{
		``:                       {},
		`null`:                   {Kind: 'n'},
		`true`:                   {Kind: 't', Bool: true, IsBool: true, Truthy: true},
		`false`:                  {Kind: 'f', IsBool: true},
		`""`:                     {Kind: '"', IsText: true},
		`"0"`:                    {Kind: '"', Text: "0", IsText: true, Truthy: true},
		`"a\u00e9\n"`:            {Kind: '"', Text: "aé\n", IsText: true, Truthy: true},
		`0`:                      {Kind: '0', IsInt: true, IsFlt: true},
		`-0`:                     {Kind: '0', IsInt: true, IsFlt: true},
		`0.0e5`:                  {Kind: '0', IsFlt: true},
		`1e-999`:                 {Kind: '0', IsFlt: true},
		`-7`:                     {Kind: '0', Int: -7, IsInt: true, Float: -7, IsFlt: true, Truthy: true},
		`1.0`:                    {Kind: '0', Float: 1, IsFlt: true, Truthy: true},
		`9223372036854775807`:    {Kind: '0', Int: 1<<63 - 1, IsInt: true, Float: 1 << 63, IsFlt: true, Truthy: true},
		`9223372036854775808`:    {Kind: '0', Float: 1 << 63, IsFlt: true, Truthy: true},
		strings.Repeat("9", 400): {Kind: '0', Truthy: true},
		`[]`:                     {Kind: '['},
		`[ ]`:                    {Kind: '['},
		`[0]`:                    {Kind: '[', Truthy: true},
		"{\n}":                   {Kind: '{'},
		`{"a":null}`:             {Kind: '{', Truthy: true},
	} {
		r := Raw(text)
		got := view{Kind: r.Kind(), Truthy: r.Truthy()}
		got.Text, got.IsText = r.Text()
		if got.Int, got.IsInt = r.Int(); !got.IsInt {
			got.Int = 0
		}
		if got.Float, got.IsFlt = r.Float(); !got.IsFlt {
			got.Float = 0
		}
		got.Bool, got.IsBool = r.Bool()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", text, diff)
		}
		if r.IsNull() != (text == "null") {
			t.Errorf("%q: IsNull %v", text, r.IsNull())
		}
	}
}

func TestCodec(t *testing.T) {
	type inner struct {
		A int `json:"a"`
		R Raw `json:"r"`
	}
	out, err := Marshal(map[string]any{"b": inner{A: 1, R: Raw(`[1, 2]`)}, "a": inner{}})
	if want := `{"a":{"a":0,"r":null},"b":{"a":1,"r":[1,2]}}`; err != nil || string(out) != want {
		t.Errorf("Marshal: %s, %v", out, err)
	}
	out, err = MarshalIndent(map[string]int{"a": 1})
	if want := "{\n  \"a\": 1\n}"; err != nil || string(out) != want {
		t.Errorf("MarshalIndent: %q, %v", out, err)
	}
	for _, tc := range []struct {
		text        string
		strict, lax bool
	}{
		{`{"a":1,"r":{"x":[ ]}}`, true, true},
		{`{"a":1,"c":2}`, false, true},
		{`{"A":1}`, false, true},
		{`{"a":"1"}`, false, false},
		{`{"a":1,"a":2}`, false, false},
		{`{"a":1,"r":1e999}`, false, false},
		{`{"a":1,"r":` + nested("[", "]", 64) + `}`, false, false},
		{`{"a":1} {}`, false, false},
	} {
		var v inner
		if err := Unmarshal([]byte(tc.text), &v); (err == nil) != tc.strict {
			t.Errorf("Unmarshal %.40s: %v", tc.text, err)
		}
		if err := UnmarshalLax([]byte(tc.text), &v); (err == nil) != tc.lax {
			t.Errorf("UnmarshalLax %.40s: %v", tc.text, err)
		}
	}
}

func TestAppendSeconds(t *testing.T) {
	for us, want := range map[int64]string{
		1796063246832343:     "1796063246.832343",
		0:                    "0.000000",
		1:                    "0.000001",
		-1:                   "-0.000001",
		-1500000:             "-1.500000",
		1<<63 - 1:            "9223372036854.775807",
		-9223372036854775808: "-9223372036854.775808",
	} {
		if got := string(AppendSeconds(nil, us)); got != want {
			t.Errorf("%d: %s, want %s", us, got, want)
		}
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":             `""`,
		"a\"\\/\b\n\t": `"a\"\\/\b\n\t"`,
		"\x01\x7f":     "\"\\u0001\x7f\"",
		"<é\u2028>":    "\"<é\u2028>\"",
		"\xff":         "\"\ufffd\"",
	} {
		if got := string(AppendString([]byte("x"), in)); got != "x"+want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// jsonText draws JSON, mostly valid, with raw spellings a printer would not make.
func jsonText() *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		`null`, `true`, `false`, `0`, `-1.50`, `1e2`, `1E-400`, `1e400`, `""`, `"a\u0061"`, `"\ud83d\ude00"`,
		`"\\\""`, `"}{]["`, `"é"`, `[]`, `{ }`, `NaN`, strings.Repeat("1", 4301),
	})
	name := rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `"sender"`, `"x\\"`, `"seq"`, `"é"`})
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			kind := rapid.IntRange(0, 4).Draw(t, "kind")
			if depth == 0 || kind == 0 {
				return leaf.Draw(t, "leaf")
			}
			var parts []string
			for range rapid.IntRange(0, 4).Draw(t, "n") {
				part := space.Draw(t, "s") + value(depth-1).Draw(t, "v") + space.Draw(t, "s")
				if kind != 1 {
					part = name.Draw(t, "name") + ":" + part
				}
				parts = append(parts, part)
			}
			if kind == 1 {
				return "[" + strings.Join(parts, ",") + "]"
			}
			return "{" + strings.Join(parts, ",") + "}"
		})
	}
	return value(3)
}

func TestParseObjectLikeNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := jsonText().Draw(t, "text")
		if fault := parseFault(text, ParseObject); fault != "" {
			t.Fatal(fault)
		}
	})
}
