package deadline

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// aws is a spot instance of Amazon: it has about two minutes, and is told the time. The service
// answers who has a token (version 2 of it).
type aws struct {
	noticeClock
	metadata
	token   string
	renewal time.Time // when it is time for a new one
}

const (
	awsTokenPath  = "/latest/api/token"
	awsActionPath = "/latest/meta-data/spot/instance-action"
	awsLifetime   = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	awsToken      = "X-Aws-Ec2-Metadata-Token"
	awsSeconds    = 21600 // as long as there is
)

func (a *aws) ask(ctx context.Context) (*answer, error) {
	r, err := a.action(ctx)
	if err == nil && r.status == http.StatusUnauthorized { // the service was started again, say
		a.token = ""
		r, err = a.action(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case r.status == http.StatusNotFound:
		return a.absent()
	case r.status != http.StatusOK:
		return nil, a.unexpected(awsActionPath, r)
	}
	var action struct{ Action, Time string }
	if err := json.Unmarshal([]byte(r.body), &action); err != nil || action.Action == "" {
		return nil, a.unexpected(awsActionPath, r)
	}
	at, err := time.Parse(time.RFC3339, action.Time)
	if err != nil {
		return a.said(action.Action+" "+action.Time, time.Now())
	}
	return a.given(action.Time, func() time.Time { return a.clock.at(at) }), nil
}

// action asks what is to happen to this machine, with a token that has not expired.
func (a *aws) action(ctx context.Context) (reply, error) {
	if a.token == "" || !time.Now().Before(a.renewal) {
		began := time.Now()
		r, err := a.do(ctx, http.MethodPut, awsTokenPath, awsLifetime, strconv.Itoa(awsSeconds))
		if err != nil {
			return r, err
		}
		if r.status != http.StatusOK || r.body == "" {
			return r, a.unexpected(awsTokenPath, r)
		}
		seconds, err := strconv.Atoi(r.header.Get(awsLifetime))
		if err != nil || seconds <= 0 {
			seconds = awsSeconds
		}
		a.token, a.renewal = r.body, began.Add(time.Duration(seconds)*time.Second*9/10)
	}
	return a.do(ctx, http.MethodGet, awsActionPath, awsToken, a.token)
}
