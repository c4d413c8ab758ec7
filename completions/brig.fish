# fish completion for brig.

# True before --, where words are brig's own and not the command's.
function __brig_own
    not contains -- -- (commandline -opc)
end
function __brig_run
    __brig_own; and __fish_seen_subcommand_from run
end
# What stands behind --, completed as a command line of its own.
function __brig_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words); or return
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-2]) $words[-1])
end

# The names that the manifest itself declares: nothing is loaded for them. A manifest that was not typed is not
# named here either: brig must see that nobody has consented to it.
function __brig_tools
    set -l words (commandline -opc)
    set -l named
    set -l at (contains -i -- --manifest $words); and set named --manifest $words[(math $at + 1)]
    brig tools --format names $named 2>/dev/null
end

complete -c brig -f
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a run -d 'Run a command in a cell'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a doctor -d 'Show what this machine can enforce'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a tools -d 'List the tools of a manifest'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a call -d 'Call a tool of a manifest'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a presets -d 'List what toolchains need'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a serve -d 'Serve tools over MCP and HTTP'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a mcp -d 'Serve tools over MCP on stdin and stdout'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a help -d 'Show the help of a sub-command'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -a version -d 'Print the version'
complete -c brig -n '__brig_own; and __fish_seen_subcommand_from help' -a 'run tools call presets serve mcp doctor'
complete -c brig -n __brig_own -s h -l help -d 'Print help'
complete -c brig -n '__brig_own; and not __fish_seen_subcommand_from run tools call presets doctor serve mcp help version' -s V -l version -d 'Print the version'
complete -c brig -n '__brig_own; and __fish_seen_subcommand_from run call presets doctor' -l json -d 'Print JSON'

complete -c brig -n '__fish_seen_subcommand_from tools call' -l manifest -r -F -d 'Manifest (brig.toml)'
complete -c brig -n '__fish_seen_subcommand_from tools' -l query -x -d 'Only tools with this text'
complete -c brig -n '__fish_seen_subcommand_from tools' -l format -x -a 'table json openai openai-responses mcp names' -d 'Format'
complete -c brig -n '__fish_seen_subcommand_from call' -l watch -d 'Print events on stderr, as they happen'
complete -c brig -n '__fish_seen_subcommand_from call' -a '(__brig_tools)' -d Tool

complete -c brig -n '__fish_seen_subcommand_from serve mcp' -s m -l manifest -r -F -d 'Manifest of the tools'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l builtins -d 'run_command and run_python, too'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l concurrency -x -d 'Calls at once'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l queue -x -d 'Calls that wait (1024)'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l audit -r -F -d 'Audit log'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l audit-arguments -x -a 'off redacted full' -d 'What it shows of arguments'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l mcp-text -x -d 'Largest text in an MCP result (25K)'
complete -c brig -n '__fish_seen_subcommand_from serve mcp' -l preload -x -d 'Import this module before calls of run_python'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l policy -r -F -d 'Policy file (TOML)'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l read -r -F -d 'Let calls read PATH'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l write -r -F -d 'Let calls write PATH'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l read-optional -r -F -d 'Let calls read PATH, if it exists'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l write-optional -r -F -d 'Let calls write PATH, if it exists'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l noexec -r -F -d 'Let nothing below PATH be executed'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l protect -r -F -d 'Keep PATH read-only, or @default'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l net -x -a 'none loopback host' -d 'Network (none)'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l allow -x -d 'Let calls reach HOST, and nothing else'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l deny -x -d 'Except HOST'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l connections -x -d 'Connections open at once (64)'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l upload -x -d 'Bytes that calls may send to allowed hosts'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l download -x -d 'Bytes that calls may receive from them'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l connection-time -x -d 'How long one connection may last'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l preset -x -a 'node python rust go java git' -d 'Add what a toolchain needs'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l unset -x -a '(set -nx)' -d 'Remove a variable'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l user -x -a root -d 'User id inside the cell (1000)'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l memory -x -d 'Memory limit of a call (512M)'
complete -c brig -n '__fish_seen_subcommand_from mcp' -l timeout -x -d 'Time limit of a call (30s)'
complete -c brig -n '__fish_seen_subcommand_from serve' -s l -l listen -x -a '127.0.0.1:7070 unix:' -d 'Where'
complete -c brig -n '__fish_seen_subcommand_from serve' -l token-file -r -F -d 'File with a token or [[token]] tables'
complete -c brig -n '__fish_seen_subcommand_from serve' -l tls-cert -r -F -d 'Certificate (PEM)'
complete -c brig -n '__fish_seen_subcommand_from serve' -l tls-key -r -F -d 'Key (PEM)'
complete -c brig -n '__fish_seen_subcommand_from serve' -l allow-host -x -d 'A name of the server'
complete -c brig -n '__fish_seen_subcommand_from serve' -l allow-origin -x -d 'Web pages that may call'
complete -c brig -n '__fish_seen_subcommand_from serve' -l max-body -x -d 'Largest request (16M)'
complete -c brig -n '__fish_seen_subcommand_from serve' -l drain -x -d 'How long calls may continue after SIGTERM (30s)'

complete -c brig -n __brig_run -l policy -r -F -d 'Policy file (TOML)'
complete -c brig -n __brig_run -l timeout -x -d 'Time limit (30s)'
complete -c brig -n __brig_run -l grace -x -d 'Between SIGTERM and SIGKILL (500ms)'
complete -c brig -n __brig_run -l cpu-time -x -d 'CPU time of the tree'
complete -c brig -n __brig_run -l memory -x -d 'Memory of the tree (512M)'
complete -c brig -n __brig_run -l processes -x -d 'Processes and threads at once (128)'
complete -c brig -n __brig_run -l cpus -x -d 'CPU share, such as 0.5'
complete -c brig -n __brig_run -l output -x -d 'Bytes of each stream to keep in the report (100K)'
complete -c brig -n __brig_run -l output-total -x -d 'Stop the command when it writes more'
complete -c brig -n __brig_run -l scratch -x -d 'Private file space (64M)'
complete -c brig -n __brig_run -l file-size -x -d 'Largest file it may write'
complete -c brig -n __brig_run -l open-files -x -d 'Open files per process (256)'
complete -c brig -n __brig_run -l read -r -F -d 'Let the cell read PATH'
complete -c brig -n __brig_run -l write -r -F -d 'Let the cell read and write PATH'
complete -c brig -n __brig_run -l read-optional -r -F -d 'Let the cell read PATH, if it exists'
complete -c brig -n __brig_run -l write-optional -r -F -d 'Let the cell read and write PATH, if it exists'
complete -c brig -n __brig_run -l noexec -r -F -d 'Let nothing below PATH be executed'
complete -c brig -n __brig_run -l protect -r -F -d 'Keep PATH read-only, or @default'
complete -c brig -n __brig_run -l hide -r -F -d 'Show PATH as empty'
complete -c brig -n __brig_run -l root -x -a '(__fish_complete_directories)' -d 'Directory in place of the host\'s system'
complete -c brig -n __brig_run -l net -x -a 'none loopback host' -d 'Network'
complete -c brig -n __brig_run -l allow -x -d 'Let it reach HOST, and nothing else'
complete -c brig -n __brig_run -l deny -x -d 'Except HOST'
complete -c brig -n __brig_run -l connections -x -d 'Connections open at once (64)'
complete -c brig -n __brig_run -l upload -x -d 'Bytes that it may send to allowed hosts'
complete -c brig -n __brig_run -l download -x -d 'Bytes that it may receive from them'
complete -c brig -n __brig_run -l connection-time -x -d 'How long one connection may last'
complete -c brig -n __brig_run -l env -x -a '(set -nx)' -d 'Pass a variable on, or set it'
complete -c brig -n __brig_run -l unset -x -a '(set -nx)' -d 'Remove a variable'
complete -c brig -n __brig_run -l preset -x -a 'node python rust go java git' -d 'Add what a toolchain needs'
complete -c brig -n __brig_run -l user -x -a root -d 'User id inside the cell (1000)'
complete -c brig -n __brig_run -l cwd -x -a '(__fish_complete_directories)' -d 'Working directory in the cell'
complete -c brig -n __brig_run -l isolation -x -a 'jail landlock process' -d 'Least isolation accepted'
complete -c brig -n __brig_run -l tty -d 'Give it a terminal of its own'
complete -c brig -n '__brig_own; and __fish_seen_subcommand_from presets' -a 'node python rust go java git'
complete -c brig -n 'not __brig_own; and __fish_seen_subcommand_from run' -a '(__brig_command)'
