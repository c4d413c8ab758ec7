// brig runs every tool call of an agent in a fresh, locked cell. This header includes the whole
// public API.
//
// The light way: a program that only runs commands includes <brig/runner.h> (it brings command.h,
// policy.h and report.h) and <brig/error.h>. These include nothing but the standard library.
// <brig/capabilities.h>, <brig/preset.h>, <brig/progress.h>, <brig/python.h>, <brig/seed.h> and
// <brig/version.h> are as light. The others (sandbox.h, toolbox.h, tool.h, manifest.h, router.h,
// watch.h, json*.h) are for tools; all of them but watch.h include nlohmann's json.hpp.
//
// Rules that hold for every header:
// - Construction and configuration throw brig::Error. A call does not throw for what its command or
//   tool does: the end of a call is a value.
// - Descriptors and pointers in arguments are borrowed, as long as the header says. brig closes
//   none of them.
// - Objects with threads (Runner, Sandbox) belong to the process that made them. After a fork() the
//   child must neither use nor destroy them: it makes its own, or calls exec or _exit.
#pragma once

#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/manifest.h>
#include <brig/policy.h>
#include <brig/preset.h>
#include <brig/progress.h>
#include <brig/python.h>
#include <brig/report.h>
#include <brig/router.h>
#include <brig/runner.h>
#include <brig/sandbox.h>
#include <brig/seed.h>
#include <brig/toolbox.h>
#include <brig/version.h>
