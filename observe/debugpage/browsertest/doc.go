// Package browsertest tests package debugpage in a browser: headless Chromium.
// It is a separate module, so that programs that use the queue do not require a
// driver for browsers.
//
// Without Chromium the tests skip, or fail if SHARDQ_REQUIRE_CHROMIUM=1.
// CHROMIUM names its executable if that is not on the path.
//
// This command makes the pictures in the documents:
//
//	go test -run TestScreenshots -screenshots ../../../docs/reference/images
//
// A palette of 256 colors, as by pngquant, makes them a third as large.
package browsertest
