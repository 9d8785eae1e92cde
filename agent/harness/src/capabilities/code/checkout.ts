/**
 * The checkout of a run in a repository: `repos/<name>/<run>` of the workspace, a worktree on the run's own
 * branch. The runs of a workspace share the clone `repos/<name>/.clone` but not their worktrees, so leftovers
 * and parallel runs do not conflict. Git runs in a sandbox like the agent's, because a repository may contain
 * programs. The remote's address stays the real one; git's settings in the sandbox redirect it to the broker.
 */
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { MADE_BY_TOOLS } from '@cairn/workspace'
import { type Sandbox, FORWARDER_PORT } from '@cairn/sandbox'
import { GIT_PREFIX } from './git-broker.ts'

export type Checkout = { repo: string; url: string; branch: string }

/** Timeout, enough for a large clone. */
const CHECKOUT_MS = 10 * 60_000
/** Days after which an unused worktree is removed, if nothing is lost with it. */
const KEPT_DAYS = 7
const SAID_CHARS = 500

/** The branch of a run; the same each time the run is resumed. */
export const branchOf = (run_id: string): string => `cairn/${run_id.replaceAll('-', '').slice(0, 8)}`

const treeOf = (branch: string): string => branch.replace(/^.*\//, '')
/** Path of the checkout in a workspace. */
export const checkoutIn = (workspace: string, repo: string, branch: string): string =>
  join(workspace, 'repos', repo, treeOf(branch))

/** Escapes a value of git's settings; only these two characters need it. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

/** Escapes a name for a grep pattern. */
const escaped = (name: string): string => name.replaceAll('.', String.raw`\.`)

/** Git's settings in the run's home. */
export const gitSettings = ({ repo, url }: Pick<Checkout, 'repo' | 'url'>): string =>
  [
    '[user]\n\tname = Cairn\n\temail = cairn@localhost',
    `[url ${quoted(`http://127.0.0.1:${FORWARDER_PORT}${GIT_PREFIX}${repo}`)}]\n\tinsteadOf = ${quoted(url)}`,
    // The sandbox is the boundary, and user ids in it may differ from the folder's owner.
    '[safe]\n\tdirectory = *',
    '',
  ].join('\n')

/**
 * Arguments: the name, the address, the branch, the folder of its worktree. Interrupted work is repeated: a
 * worktree is complete once it has its marker file, a clone once it has its final name. Runs take turns,
 * because git cannot fetch while another process creates a worktree. Without flock they do not wait, so
 * each clones under a temporary name; leftovers too old to be in use are removed.
 * The worktree refers to its clone by a relative path, so that both can be moved or copied with the
 * workspace.
 *
 * Old worktrees of other runs are removed before a new one is created. `git worktree remove` would look for
 * them where they were before the workspace was copied, so their folder and their entry in the clone are
 * removed here. Their branches stay, with every commit.
 */
const SCRIPT = `
set -eu
name=$1 url=$2 branch=$3 tree=$4
mkdir -p "repos/$name" && cd "repos/$name"
[ ! -e .git ] || { echo "repos/$name is a clone that Cairn did not create: move it away" >&2; exit 1; }
ready=".clone/.git/worktrees/$tree/ready"
# A resumed run uses its worktree again.
[ ! -e "$ready" ] || [ ! -e "$tree" ] || { touch "$ready"; exit 0; }
# The lock ends with this script: git may leave a process behind, which must not inherit it.
exec 9< .
! command -v flock > /dev/null || flock 9
git() { command git "$@" 9<&-; }
find . -maxdepth 1 -name '.part-*' -mmin +${CHECKOUT_MS / 60_000} -exec rm -rf {} +
renew() { git -C .clone fetch --quiet origin && git -C .clone remote set-head origin --auto > /dev/null; }
gitdir_of() { echo "gitdir: ../.clone/.git/worktrees/$1"; }
# An unused worktree of a run, on a branch, with nothing in it that git or a tool cannot restore.
is_spent() {
  own=".clone/.git/worktrees/$1"
  [ -e "$own/ready" ] && [ -z "$(find "$own" -mtime -${KEPT_DAYS} -print -quit)" ] || return 1
  grep -q '^ref: refs/heads/' "$own/HEAD" || return 1
  for operation in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG sequencer modules; do
    [ ! -e "$own/$operation" ] || return 1
  done
  [ -e "$1" ] || return 0
  # The user may have put another folder in its place.
  [ "$(cat "$1/.git")" = "$(gitdir_of "$1")" ] || return 1
  held=$(git -C "$1" --no-optional-locks status --porcelain --ignored=matching --untracked-files=normal \\
    --ignore-submodules=none) || return 1
  ! printf '%s' "$held" | grep -qvE '^!! (.*/)?(${MADE_BY_TOOLS.map(escaped).join('|')})/$'
}
if [ -e .clone ]; then
  # Retry once: another run may have locked the same ref.
  renew || renew
else
  part=".part-$tree"
  rm -rf "$part"
  git clone --quiet --no-checkout -- "$url" "$part"
  head=$(git -C "$part" rev-parse --quiet --verify origin/HEAD) || {
    rm -rf "$part"; echo "it has no default branch with a commit" >&2; exit 1
  }
  # No branch is checked out here, so a worktree can switch to any of them.
  git -C "$part" update-ref --no-deref HEAD "$head"
  mv -T -- "$part" .clone 2> /dev/null || rm -rf "$part"
fi
rm -rf "$tree"
if git -C .clone show-ref --quiet --verify "refs/heads/$branch"; then set -- "../$tree" "$branch"
else set -- --no-track -b "$branch" "../$tree" origin/HEAD; fi
for known in .clone/.git/worktrees/*/; do
  known=$(basename "$known")
  # A worktree that cannot be removed stays and blocks no run.
  if is_spent "$known" 2> /dev/null; then rm -rf "$known" ".clone/.git/worktrees/$known" || :; fi
done
# By force: git may still list a worktree whose folder is gone.
git -C .clone worktree add --quiet --lock --force --force "$@"
gitdir_of "$tree" > "$tree/.git"
touch "$ready"
`

/** Rejects with git's error output. */
export async function checkOut(
  box: Sandbox,
  { repo, url, branch }: Checkout,
  signal: AbortSignal,
): Promise<void> {
  const late = AbortSignal.timeout(CHECKOUT_MS)
  const ending = AbortSignal.any([signal, late])
  const running = box.spawn(['bash', '-c', SCRIPT, 'checkout', repo, url, branch, treeOf(branch)])
  const end = (): void => box.kill()
  ending.addEventListener('abort', end, { once: true })
  let said = ''
  running.stdout.resume()
  running.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-SAID_CHARS)
  })
  try {
    if (ending.aborted) end()
    const { exitCode, overran } = await running.exited
    signal.throwIfAborted()
    if (late.aborted) throw new Error(`it took longer than ${CHECKOUT_MS / 60_000} min`)
    if (exitCode !== 0) throw new Error(overran ?? (said.trim() || `git exited with code ${exitCode}`))
  } catch (error) {
    signal.throwIfAborted()
    const why = `the repository ${repo} could not be checked out: ${asError(error).message}`
    throw new Error(why, { cause: error })
  } finally {
    ending.removeEventListener('abort', end)
    await box.close()
  }
}
