/* brig in C: a small, stable interface for other languages. JSON in, JSON out.
 *
 * What this header declares keeps its meaning as long as BRIG_C_VERSION stays the same. New
 * functions may be added.
 *
 * Threads: all functions may be called from any thread. None calls back, except where it says so.
 *
 * Texts are UTF-8. Where a function takes a size, the text needs no NUL byte at its end. Arguments
 * are borrowed during the call only.
 *
 * Ownership: a text that a function returns ends with a NUL byte and belongs to the caller, who
 * frees it with brig_c_free(). Its size, where the function has a pointer for that, does not count
 * the NUL.
 *
 * Errors: a function that can fail has an `error`. Pass null, or a pointer that receives
 * {"kind": "config", "message": "..."}, a text to free. The function writes to it only when it
 * fails. The kinds are those of brig::ErrorKind. How a call ends is not an error: it is the call's
 * result.
 *
 * After a fork() the child must not use or free what its parent has made. */
#pragma once

#include <brig/version.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. The version of brig is BRIG_VERSION (version.h). */
#define BRIG_C_VERSION 1

/* The BRIG_C_VERSION of the library. A program compiled with another one should not go on. */
int brig_c_version(void);
/* The BRIG_VERSION of the library, "0.1.0". Not to be freed. */
const char* brig_c_library_version(void);
/* Frees a text. Null is fine. */
void brig_c_free(void* text);

/* --- a sandbox: tools behind a policy --- */

typedef struct brig_c_sandbox brig_c_sandbox;

/* Starts a sandbox and waits until it is ready, which takes a while. Null on failure.
 * `config` (all members are optional):
 *   {"policy": {...},           as in a manifest's [policy]: {"timeout": "5s", "network": "none"},
 *                               {"network": {"allow": ["api.github.com:443"], "deny": []}}, ...
 *    "options": {"concurrency": 0, "queue": 1024, "ready_min": 1, "ready_max": 16},
 *    "tools": [{"name": "", "description": "", "input_schema": {}, "output_schema": {},
 *               "coerce": true,
 *               "annotations": {"read_only": false, "destructive": true, "idempotent": false,
 *                               "open_world": true},
 *               "policy": {...},          what differs from the sandbox's
 *               "argv": ["echo", "{who}"] a command; without it, a function of "python"
 *              }],
 *    "python": {"interpreter": "/usr/bin/python3", "read": ["/path"],
 *               "spec": {...}},           see brig._cell
 *    "modules": [{"modules": ["weather"], "path": [], "interpreter": "", "policy": {...}}],
 *    "libraries": [{"path": "", "policy": {...}}],
 *    "manifest": "/path/brig.toml"}       adds its tools; "policy" wins over the manifest's */
brig_c_sandbox* brig_c_sandbox_new(const char* config, size_t size, char** error);
/* Cancels what is running and waits for its end. Null is fine. */
void brig_c_sandbox_free(brig_c_sandbox* sandbox);
/* Replaces all tools and loads them again. "options" are ignored, and "policy" only fills in what
 * the tools' own policies leave open. Returns 0; on failure -1, and the old tools stay. */
int brig_c_sandbox_set_tools(brig_c_sandbox* sandbox, const char* config, size_t size,
                             char** error);
/* [{"name", "description", "input_schema", "output_schema", "annotations": {"read_only", ...}}]:
 * the tools with `query` in their name or description; all of them if it is null or empty. Null if
 * there is no memory. Until 0.3 the annotations stand beside the name, too, and the config of
 * brig_c_sandbox_new takes them there. */
char* brig_c_sandbox_tools(brig_c_sandbox* sandbox, const char* query);
/* ["/path/of/a/file", ...]: brig::Sandbox::sources(). Null if there is no memory. */
char* brig_c_sandbox_sources(brig_c_sandbox* sandbox);

/* A long string that need not be copied into a request. In its place the request has, inside the
 * quotes, the byte \x01, the size in decimal and the byte \x01. The places of a request and its
 * blobs have the same order. */
typedef struct {
  const char* bytes;
  size_t size;
  /* Not 0: the bytes are not text, and the tool gets them as base64. `size` counts the bytes. */
  int base64;
} brig_c_blob;

/* Calls a tool and waits for its end.
 * `request`: {"tool": "add", "arguments": {...}, "call_id": "", "caller": ""}.
 * The result is two lines of JSON: all of brig::ToolResult except its report, and the report. A
 * wrong request has a result, too. Null only if there is no memory.
 * `interrupted` may be null. It is called on this thread when a signal has interrupted the wait,
 * and every 100 ms; when it returns anything but 0, the call ends at once. */
char* brig_c_sandbox_call(brig_c_sandbox* sandbox, const char* request, size_t size,
                          const brig_c_blob* blobs, size_t blob_count, int (*interrupted)(void),
                          size_t* result_size);

/* A queue where results of submitted calls arrive. */
typedef struct brig_c_queue brig_c_queue;
/* Null on failure. */
brig_c_queue* brig_c_queue_new(char** error);
/* A descriptor for an event loop: it is readable while results wait. The queue owns it; do not read
 * from it and do not close it. */
int brig_c_queue_descriptor(const brig_c_queue* queue);
/* The next result, or null if none waits. `ticket` receives the ticket of its call. Never waits. */
char* brig_c_queue_take(brig_c_queue* queue, uint64_t* ticket, size_t* size);
/* Results that arrive later are dropped; their calls go on. Null is fine. */
void brig_c_queue_free(brig_c_queue* queue);
/* As brig_c_sandbox_call, but returns at once. The blobs may be freed then. The result arrives in
 * `queue`, also that of a wrong request. */
void brig_c_sandbox_submit(brig_c_sandbox* sandbox, brig_c_queue* queue, uint64_t ticket,
                           const char* request, size_t size, const brig_c_blob* blobs,
                           size_t blob_count);
/* Ends all calls with that id: SIGTERM, the grace period, SIGKILL. `at_once` sends SIGKILL to
 * submitted calls without the grace period. Returns 1 if there was such a call, otherwise 0. */
int brig_c_sandbox_cancel(brig_c_sandbox* sandbox, const char* call_id, int at_once);

/* A view of what happens in a sandbox. It may outlive the sandbox. */
typedef struct brig_c_watch brig_c_watch;
/* At most `buffer` events wait for the watcher; then it loses some. Null on failure. */
brig_c_watch* brig_c_sandbox_watch(brig_c_sandbox* sandbox, size_t buffer, char** error);
/* Readable while brig_c_watch_next would not wait. The watch owns it, as a queue owns its own. */
int brig_c_watch_descriptor(const brig_c_watch* watch);
/* The next event, or null if none came in time:
 * {"kind", "at", "tool", "call_id", "stream", "text", "fraction", "outcome", "message", "dropped"}.
 * An event has the members that fit its kind; docs/serve.md lists them. "at" is a time of RFC 3339,
 * in UTC. Text that is not UTF-8 is in "text_base64". Until 0.3 every other event has a "text", and
 * that of "finished" is its message. One thread at a time. */
char* brig_c_watch_next(brig_c_watch* watch, int milliseconds, size_t* size);
/* 1 if the sandbox is gone and every event was taken, otherwise 0. */
int brig_c_watch_ended(const brig_c_watch* watch);
/* Null is fine. */
void brig_c_watch_free(brig_c_watch* watch);

/* --- commands --- */

/* Runs one command in one cell and waits for its end. `request`: {"argv": [...], "policy": {...}}.
 * `input`: bytes for its stdin; null: it reads end-of-file at once.
 * `cancel`: a descriptor that cancels the command when it is readable, or -1. It is borrowed.
 * Returns the report; null on failure, that is if the command could not be started as the policy
 * says. A command that fails has a report. */
char* brig_c_run(const char* request, size_t size, const char* input, size_t input_size, int cancel,
                 size_t* result_size, char** error);

/* The same, with `interrupted` as for brig_c_sandbox_call. */
char* brig_c_run_interruptible(const char* request, size_t size, const char* input,
                               size_t input_size, int cancel, int (*interrupted)(void),
                               size_t* result_size, char** error);

/* What this machine can enforce: brig::Capabilities. `policy` may be null. Null on failure. */
char* brig_c_capabilities(const char* policy, size_t size, char** error);

/* {"NAME": "value"}: brig::build_safe_env of {"passthrough": [...], "extra": {...}}.
 * Null on failure. */
char* brig_c_safe_environment(const char* request, size_t size, char** error);
/* brig::kill_process_tree. */
void brig_c_kill_process_tree(int pid);

#ifdef __cplusplus
}
#endif
