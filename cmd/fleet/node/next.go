package node

import (
	"regexp"
	"strings"
)

// Next is the next step of a refusal: one command line that can be run as it stands, or one sentence. It is never both:
// who copies a command must not have to guess where it ends. In a command a word in capitals stands for what only the
// operator knows. A sentence may name a command by its words, as `fleet journal verify`, but does not give its options.
// The zero value is no next step.
type Next struct {
	text    string
	command bool
}

// Command is the next step of running fleet with these words, quoted as a shell needs them.
func Command(words ...string) Next { return commandLine(append([]string{program}, words...)) }

// Chmod is the next step of setting the mode of a file, as chmod writes it.
func Chmod(mode, path string) Next { return commandLine([]string{chmod, mode, path}) }

func commandLine(words []string) Next {
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = Quoted(word)
	}
	return Next{text: strings.Join(line, " "), command: true}
}

// Advice is a next step in one sentence.
func Advice(sentence string) Next { return Next{text: strings.TrimSuffix(sentence, ".")} }

// Every command begins with one of these, and no sentence does: this program, and the one of the shell that is needed.
const (
	program = "fleet"
	chmod   = "chmod"
)

// nextOf is the next step that another package, or a node of another build, has put into words.
func nextOf(text string) Next {
	if strings.HasPrefix(text, program+" ") || strings.HasPrefix(text, chmod+" ") {
		return Next{text: text, command: true}
	}
	return Advice(text)
}

// IsCommand says that the next step is a command line and not a sentence.
func (n Next) IsCommand() bool { return n.command }

func (n Next) String() string { return n.text }

// or is n, or another next step if n is none.
func (n Next) or(other Next) Next {
	if n == (Next{}) {
		return other
	}
	return n
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9/._+@%:=,-]+$`)

// Quoted is a word as a shell takes it.
func Quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
