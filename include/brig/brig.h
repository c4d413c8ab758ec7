// brig: every tool call of an agent in a fresh, locked cell. This is the whole public API.
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
