# bash completion for brig. Works with and without the bash-completion package.

_brig_files() {  # _brig_files [-d]: paths, or directories only
  local kind=${1:--f}
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$kind" -- "$cur")
}

_brig_presets='node python rust go java git'

_brig_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# The command behind brig's own words, from COMP_WORDS[$1] on.
_brig_command() {
  local start=$1
  if declare -F _command_offset >/dev/null; then
    _command_offset "$start"
  elif ((COMP_CWORD == start)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    _brig_files
  fi
}

# The names that the manifest itself declares: nothing is loaded for them. A manifest that was not typed is not
# named here either: brig must see that nobody has consented to it.
_brig_tool() {
  local named=() name i
  for ((i = 2; i < COMP_CWORD - 1; i++)); do
    [[ ${COMP_WORDS[i]} != --manifest ]] || named=(--manifest "${COMP_WORDS[i + 1]}")
  done
  # Not by compgen -W, which would expand them.
  while IFS= read -r name; do
    [[ $name != "$cur"* ]] || COMPREPLY+=("$name")
  done < <(brig tools --format names ${named[@]+"${named[@]}"} 2>/dev/null)
}

_brig() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} sub='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --)
        [[ $sub != run ]] || _brig_command $((i + 1))
        return
        ;;
      run | tools | call | presets | doctor | serve | mcp | help | version) [[ -n $sub ]] || sub=${COMP_WORDS[i]} ;;
    esac
  done

  case $sub in
    '')
      if [[ $cur == -* ]]; then _brig_words '--help --version'; else _brig_words 'run tools call presets serve mcp doctor help version'; fi
      ;;
    help) ((COMP_CWORD > 2)) || _brig_words 'run tools call presets serve mcp doctor' ;;
    doctor) _brig_words '--json --help' ;;
    presets) if [[ $cur == -* ]]; then _brig_words '--json --help'; else _brig_words "$_brig_presets"; fi ;;
    serve | mcp)
      case $prev in
        --manifest | -m | --audit | --token-file | --tls-cert | --tls-key | --policy | --read | --write | --read-optional | --write-optional | --noexec | --protect) _brig_files ;;
        --audit-arguments) _brig_words 'off redacted full' ;;
        --listen | -l) _brig_words '127.0.0.1:7070 unix:' ;;
        --net) _brig_words 'none loopback host' ;;
        --preset) _brig_words "$_brig_presets" ;;
        --user) _brig_words 'root' ;;
        --unset) mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
        --allow | --deny | --connections | --upload | --download | --connection-time | --memory | --timeout | --mcp-text | --preload | --concurrency | --queue | --allow-host | --allow-origin | --max-body | --drain) ;;
        *)
          local words='--manifest --builtins --preload --concurrency --queue --audit --audit-arguments --mcp-text --help'
          [[ $sub == serve ]] || words+=' --policy --read --write --read-optional --write-optional --noexec --protect --net --allow --deny --connections --upload --download --connection-time --preset --unset --user --memory --timeout'
          [[ $sub == mcp ]] || words+=' --listen --token-file --tls-cert --tls-key --allow-host --allow-origin --max-body --drain'
          _brig_words "$words"
          ;;
      esac
      ;;
    tools)
      case $prev in
        --manifest) _brig_files ;;
        --format) _brig_words 'table json openai openai-responses mcp names' ;;
        --query) ;;
        *) _brig_words '--manifest --query --format --help' ;;
      esac
      ;;
    call)
      if [[ $prev == --manifest ]]; then
        _brig_files
      elif [[ $cur == -* ]]; then
        _brig_words '--manifest --json --watch --help'
      else
        _brig_tool
      fi
      ;;
    run)
      case $prev in
        --policy | --read | --write | --hide | --read-optional | --write-optional | --noexec | --protect) _brig_files ;;
        --root | --cwd) _brig_files -d ;;
        --net) _brig_words 'none loopback host' ;;
        --isolation) _brig_words 'jail landlock process' ;;
        --preset) _brig_words "$_brig_presets" ;;
        --user) _brig_words 'root' ;;
        --env | --unset) mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
        --timeout | --grace | --cpu-time | --memory | --processes | --cpus | --output | \
          --output-total | --scratch | --file-size | --open-files | --allow | --deny | --connections | --upload | \
          --download | --connection-time) ;;
        *)
          _brig_words '--policy --timeout --grace --cpu-time --memory --processes --cpus --output
            --output-total --scratch --file-size --open-files --read --write --read-optional --write-optional --noexec --protect --hide --root --net
            --allow --deny --connections --upload --download --connection-time --env
            --unset --preset --user --cwd --isolation --json --tty --help --'
          ;;
      esac
      ;;
  esac
}
complete -F _brig brig
