package main

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool        toolspec.Tool
		args, value string
		code        toolspec.Code
	}{
		{Sum(), `{"a":1,"b":2}`, `{"sum":3}`, ""},
		{Sum(), `{"a":-0.5,"b":2}`, `{"sum":1.5}`, ""},
		{Sum(), `{"a":"1","b":2}`, "", toolspec.CodeValidation},
		{Sum(), `{"a":1}`, "", toolspec.CodeValidation},
		{GetCurrentWeather(), `{"location":"Berlin","format":"celsius"}`, `{"format":"celsius","temperature":11.5}`, ""},
		{GetCurrentWeather(), `{"location":"Berlin","format":"fahrenheit"}`, `{"format":"fahrenheit","temperature":52.7}`, ""},
		{GetCurrentWeather(), `{"location":"Berlin","format":"kelvin"}`, "", toolspec.CodeValidation},
		{GetCurrentWeather(), `{"format":"celsius"}`, "", toolspec.CodeValidation},
		{GetCurrentWeather(), `{"location":"Atlantis","format":"celsius"}`, "", toolspec.CodeExecution},
		{GenerateTitle(), `{"message":"hi"}`, `"Hi"`, ""},
		{GenerateTitle(), `{"message":"write  a program that counts the words of a book"}`, `"Write a program that counts the words of …"`, ""},
		{GenerateTitle(), `{"message":"été"}`, `"Été"`, ""},
		{GenerateTitle(), `{"message":" "}`, "", toolspec.CodeExecution},
	} {
		got := pawltest.Call{Tool: c.tool, Args: c.args}.Run(t)
		if string(got.Value) != c.value || got.Result.ErrorCode != c.code {
			t.Errorf("%s %s: got %s, %+v", c.tool.Definition().ID, c.args, got.Value, got.Result)
		}
		if c.code == toolspec.CodeValidation && strings.Contains(c.args, "kelvin") && got.Result.Details.Path != "/format" {
			t.Errorf("a wrong format: %+v", got.Result.Details)
		}
	}
}
