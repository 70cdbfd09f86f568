package interpreters_test

import "strings"

// sources are Python programs whose bytes matter, and which an editor or git would change.
func sources() []program {
	var out []program
	for _, s := range []struct{ name, code string }{
		{"source_bom", "\xef\xbb\xbfprint('b\u00f6m')\n"},
		{"source_bom_and_cookie", "\xef\xbb\xbf# -*- coding: utf-8 -*-\nprint('b\u00f6m')\n"},
		{"source_bom_against_cookie", "\xef\xbb\xbf# coding: latin-1\n# ends: exit 1\nprint('b')\n"},
		{"source_latin1", "# coding: latin-1\nprint(ascii('caf\xe9'), len('\xe9\xe8'))\n"},
		{"source_bad_cookie", "# coding: no-such-encoding\n# ends: exit 1\nprint(1)\n"},
		{"source_bad_utf8", "# ends: exit 1\nx = 'caf\xe9'\nprint(x)\n"},
		{"source_crlf", "import sys\r\nx = '''a\r\nb'''\r\nprint(repr(x), sys._getframe().f_lineno)\r\n"},
		{"source_crlf_error", "# ends: exit 1\r\n\r\nx = 1\r\nraise ValueError(x)\r\n"},
		{"source_cr", "x = 1\rprint(x)\rprint('cr')\r"},
		{"source_nul", "# ends: exit 1\nprint('before')\nx = 'a\x00b'\nprint(x)\n"},
		{"source_form_feed", "\x0cif 1:\n\x0c    print('form feed')\n"},
		{"source_tabs", "# ends: exit 1\nif 1:\n\tprint(1)\n        print(2)\n"},
		{"source_no_newline", "print('no newline')"},
		{"source_no_newline_error", "# ends: exit 1\nprint(open('/nowhere'))"},
		{"source_no_newline_comment", "print('comment')\n# the end"},
		{"source_large", large()},
		{"source_large_error", "# ends: exit 1\n" + large() + "f(\n"},
	} {
		out = append(out, program{language: python(), name: s.name, main: "main.py", files: map[string][]byte{"main.py": []byte(s.code)}})
	}
	return out
}

// large is a program of 1 MiB.
func large() string {
	const line = "x += 1 # the lines of a long program are many and most of them are alike, as this one is like the next....\n"
	comments := strings.Repeat("#"+line, 9<<10)
	return "x = 0\n" + comments + strings.Repeat(line, 64) + "print(x, len(open(__file__).read()) >= 1 << 20)\n" + strings.Repeat("#"+line, 1<<10)
}
