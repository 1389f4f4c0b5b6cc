// Package browsertest tests package debugpage in a browser: Chromium, without a window. It is a module of its
// own, so that nobody who uses the queue requires what drives a browser.
//
// Where there is no Chromium, the tests skip, or fail if SHARDQ_REQUIRE_CHROMIUM=1.
// CHROMIUM names its executable if that is not on the path.
//
// The pictures in the documents are made by
//
//	go test -run TestScreenshots -screenshots ../../../docs/images
package browsertest
