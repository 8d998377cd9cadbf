package worker

import (
	"strings"
	"testing"
)

func TestDeployment(t *testing.T) {
	for want, d := range map[string]Deployment{
		"":                        {},
		"-":                       {Name: "pawl", BuildID: "v1.2.3-rc.1+abc"},
		"belong together":         {Name: "pawl"},
		"set both":                {BuildID: "1"},
		"PAWL_DEPLOYMENT must be": {Name: "pa.wl", BuildID: "1"},
		"PAWL_BUILD_ID must be":   {Name: "pawl", BuildID: "a b"},
	} {
		t.Setenv("PAWL_DEPLOYMENT", d.Name)
		t.Setenv("PAWL_BUILD_ID", d.BuildID)
		err := loadDeployment().check()
		if want == "" || want == "-" {
			if err != nil || loadDeployment().options().UseVersioning != (want == "-") {
				t.Errorf("%+v: %v", d, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", d, err)
		}
	}
}
