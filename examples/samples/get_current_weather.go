package main

import (
	"context"
	"math"

	"github.com/pawl-run/pawl/toolspec"
)

// celsius has the weather of the sample. A real tool takes a capability that asks a weather service.
var celsius = map[string]float64{"Berlin": 11.5, "Paris": 14, "Tokyo": 21}

type weatherIn struct {
	Location string `json:"location" jsonschema:"minLength=1,maxLength=100" jsonschema_description:"Name of a city, such as Berlin."`
	Format   string `json:"format" jsonschema:"enum=celsius,enum=fahrenheit" jsonschema_description:"Unit of the temperature."`
}

type weatherOut struct {
	Temperature float64 `json:"temperature" jsonschema_description:"Temperature in the unit that was asked for."`
	Format      string  `json:"format" jsonschema_description:"Unit of the temperature."`
}

// GetCurrentWeather is core__get_current_weather: the temperature of a city.
func GetCurrentWeather() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "core__get_current_weather", Title: "Current weather", Description: "Returns the current temperature of a city.", Version: "1",
		Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/temperature", "/format"}},
		Examples:  []toolspec.Example{{Title: "Berlin", Args: `{"location": "Berlin", "format": "celsius"}`}},
	}, func(_ context.Context, in weatherIn, _ toolspec.Call) (weatherOut, error) {
		degrees, known := celsius[in.Location]
		if !known {
			return weatherOut{}, toolspec.Safef("the weather of this city is not known")
		}
		if in.Format == "fahrenheit" {
			degrees = math.Round(degrees*18+320) / 10
		}
		return weatherOut{Temperature: degrees, Format: in.Format}, nil
	})
}
