# Arguments: the paths to delete when the owner dies. Input, one line each:
#   watch TARGET SIGNAL   TARGET is a process id, or a process group as -id
#   forget
#   done
trap '' HUP INT QUIT TERM
target= signal= finished=
while read -r verb a b; do
	case $verb in
	watch) target=$a signal=$b ;;
	forget) target= ;;
	done) finished=yes; break ;;
	esac
done
[ -z "$finished" ] || exit 0

# gone SECONDS: wait until the target has ended; false when it has not.
gone() {
	left=$(($1 * 10))
	while kill -s 0 -- "$target" 2>/dev/null; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 0.1
	done
}
# The owner died. Ask, insist, kill.
if [ -n "$target" ]; then
	kill -s "$signal" -- "$target"
	gone 5 || { kill -s QUIT -- "$target"; gone 2; } || { kill -s KILL -- "$target"; gone 2; }
fi
# A killed server's own children may still be writing for a moment.
tries=20
while [ $# -gt 0 ] && ! rm -rf -- "$@" && [ "$tries" -gt 0 ]; do
	tries=$((tries - 1))
	sleep 0.1
done
