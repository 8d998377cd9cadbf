// Package codectest holds the tests of the rules that every codec of toolspec/wire must keep. The
// tests of a codec call them: fixtures with exact members, streams that are cut anywhere, calls
// that were never sent, arguments that come back as they were.
//
// Tests of the packages below toolspec/wire import it, nobody else.
package codectest
