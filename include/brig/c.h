/* brig in C: a small, stable interface for other languages. JSON in, JSON out.
 *
 * What this header declares keeps its meaning as long as BRIG_C_VERSION stays; more may come. All functions
 * may be called from any thread, and none calls back but where it says so. Texts are UTF-8, and need no NUL behind them where a
 * size is given. A text that a function returns has a NUL behind it, and is freed with brig_c_free().
 *
 * A function that can fail has an `error`: null, or where to put {"kind": "config", "message": "..."}, to
 * be freed. The kinds are those of brig::ErrorKind. How a call ends is no error, but its result. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRIG_C_VERSION 1

/* BRIG_C_VERSION of the library. A program that was made for another should not go on. */
int brig_c_version(void);
/* "0.1.0" */
const char* brig_c_library_version(void);
void brig_c_free(void* text);

/* --- a sandbox: tools behind a policy --- */

typedef struct brig_c_sandbox brig_c_sandbox;

/* Starts it, which takes a while; null if it can't be. `config` (all members are optional):
 *   {"policy": {...},           as in a manifest's [policy]
 *    "options": {"concurrency": 0, "queue": 1024, "ready_min": 1, "ready_max": 16},
 *    "tools": [{"name": "", "description": "", "input_schema": {}, "output_schema": {}, "coerce": true,
 *               "read_only": false, "destructive": true, "idempotent": false, "open_world": true,
 *               "policy": {...},                  what differs
 *               "argv": ["echo", "{who}"]}],      a command; without it, a function of "python"
 *    "python": {"interpreter": "/usr/bin/python3", "read": ["/path"], "spec": {...}},  see brig._cell
 *    "modules": [{"modules": ["weather"], "path": [], "interpreter": "", "policy": {...}}],
 *    "libraries": [{"path": "", "policy": {...}}],
 *    "manifest": "/path/brig.toml"}             its tools too; its policy, but for what "policy" says */
brig_c_sandbox* brig_c_sandbox_new(const char* config, size_t size, char** error);
/* Cancels what is running, and waits for its end. */
void brig_c_sandbox_free(brig_c_sandbox* sandbox);
/* Other tools, loaded anew; "policy" and "options" are not looked at. 0, or -1 and all is as it was. */
int brig_c_sandbox_set_tools(brig_c_sandbox* sandbox, const char* config, size_t size,
                             char** error);
/* [{"name", "description", "input_schema", "output_schema", "read_only", ...}], those with `query` in name or
 * description. */
char* brig_c_sandbox_tools(brig_c_sandbox* sandbox, const char* query);
/* ["/path/of/a/file", ...]: brig::Sandbox::sources(). */
char* brig_c_sandbox_sources(brig_c_sandbox* sandbox);

/* A string that is long and should not be copied into a request. Where it belongs, the request has \x01, the
 * size in decimal, \x01, inside the quotes; those of a request stand in the order of their blobs. */
typedef struct {
  const char* bytes;
  size_t size;
  int base64; /* not text: these bytes, to be given as base64. The size in the request is this one */
} brig_c_blob;

/* `request`: {"tool": "add", "arguments": {...}, "call_id": "", "caller": ""}. The result is two
 * lines of JSON: all of brig::ToolResult but its report, and that. It never is null, but when there is no memory. `interrupted`, unless null, is called on
 * this thread when a signal has interrupted the wait, and every 100 ms: not 0 ends the call at once. */
char* brig_c_sandbox_call(brig_c_sandbox* sandbox, const char* request, size_t size,
                          const brig_c_blob* blobs, size_t blob_count, int (*interrupted)(void),
                          size_t* result_size);

/* Where results arrive. Its descriptor is readable while there are any, for an event loop. */
typedef struct brig_c_queue brig_c_queue;
brig_c_queue* brig_c_queue_new(char** error);
int brig_c_queue_descriptor(const brig_c_queue* queue);
/* The next one, or null. `ticket` tells which. */
char* brig_c_queue_take(brig_c_queue* queue, uint64_t* ticket, size_t* size);
/* What arrives later is dropped. */
void brig_c_queue_free(brig_c_queue* queue);
/* As brig_c_sandbox_call, but returns at once; blobs are not needed any more then. */
void brig_c_sandbox_submit(brig_c_sandbox* sandbox, brig_c_queue* queue, uint64_t ticket,
                           const char* request, size_t size, const brig_c_blob* blobs,
                           size_t blob_count);
/* Of all calls with that id: SIGTERM, the grace period, SIGKILL; at_once, of submitted ones: SIGKILL. How many
 * there are is not told, but whether there is one. */
int brig_c_sandbox_cancel(brig_c_sandbox* sandbox, const char* call_id, int at_once);

/* What happens: {"kind", "tool", "call_id", "text", "stream", "fraction", "outcome", "at", "dropped"}. */
typedef struct brig_c_watch brig_c_watch;
brig_c_watch* brig_c_sandbox_watch(brig_c_sandbox* sandbox, size_t buffer, char** error);
/* Readable while the next one need not be waited for. */
int brig_c_watch_descriptor(const brig_c_watch* watch);
/* The next event, or null if none came in time. One thread at a time. */
char* brig_c_watch_next(brig_c_watch* watch, int milliseconds, size_t* size);
/* The sandbox is gone, and no event is left. */
int brig_c_watch_ended(const brig_c_watch* watch);
void brig_c_watch_free(brig_c_watch* watch);

/* --- commands --- */

/* One command in one cell. `request`: {"argv": [...], "policy": {...}}. `input`: for its stdin; null: none.
 * `cancel`: a descriptor that ends it when it becomes readable, or -1. The report, or null. */
char* brig_c_run(const char* request, size_t size, const char* input, size_t input_size, int cancel,
                 size_t* result_size, char** error);

/* The same. `interrupted`, unless null, is called on this thread when a signal has interrupted the wait, and
 * every 100 ms: not 0 ends the command at once. */
char* brig_c_run_interruptible(const char* request, size_t size, const char* input,
                               size_t input_size, int cancel, int (*interrupted)(void),
                               size_t* result_size, char** error);

/* What this machine can enforce. */
char* brig_c_capabilities(const char* policy, size_t size, char** error);

/* {"NAME": "value"}: brig::build_safe_env of {"passthrough": [...], "extra": {...}}. */
char* brig_c_safe_environment(const char* request, size_t size, char** error);
void brig_c_kill_process_tree(int pid);

#ifdef __cplusplus
}
#endif
