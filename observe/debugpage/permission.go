package debugpage

import (
	"fmt"
	"net/http"
)

// refusesActions returns why a request may not change a queue, or nil if it
// may. A panic of Options.AllowActions is a refusal.
func (h *handler) refusesActions(r *http.Request) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			h.logPanic("AllowActions", fault)
			err = refuse(http.StatusInternalServerError, "debugpage.Options.AllowActions panicked")
		}
	}()
	if h.options.AllowActions == nil || !h.options.AllowActions(r) {
		return refuse(http.StatusForbidden, "actions are denied: see debugpage.Options.AllowActions")
	}
	return nil
}

// logPanic logs the panic of a function of the options.
func (h *handler) logPanic(function string, fault any) {
	h.options.Logger.Error("debugpage: Options."+function+" panicked", "panic", fmt.Sprint(fault))
}
