/**
 * Where a run works in a repository: `repos/<name>/<run>` of the workspace, a worktree on a branch of the
 * run's own. The runs of a workspace share one clone, `repos/<name>/.clone`, and nothing of what they work
 * on: what one left behind, or does beside another, is in no other's way. Git runs in a box like the agent's,
 * for a repository may bring programs of its own. Its address stays the real one; in the box the settings of
 * git lead it to the broker.
 */
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { MADE_BY_TOOLS } from '@cairn/workspace'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { FORWARDER_PORT } from '../sandbox/forwarder.ts'
import { GIT_PREFIX } from './git-broker.ts'

export type Checkout = { repo: string; url: string; branch: string }

/** Of the longest clone. */
const CHECKOUT_MS = 10 * 60_000
/** A worktree that nobody used for so long goes, where nothing would be lost with it. */
const KEPT_DAYS = 7
const SAID_CHARS = 500

/** Of a run; the same whenever the run is taken up. */
export const branchOf = (run_id: string): string => `cairn/${run_id.replaceAll('-', '').slice(0, 8)}`

const treeOf = (branch: string): string => branch.replace(/^.*\//, '')
/** Where it lies in a workspace. */
export const checkoutIn = (workspace: string, repo: string, branch: string): string =>
  join(workspace, 'repos', repo, treeOf(branch))

/** A value of git's settings, which has escapes for these two alone. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

/** A name in a pattern of grep's. */
const escaped = (name: string): string => name.replaceAll('.', String.raw`\.`)

/** The settings of git in the run's home. */
export const gitSettings = ({ repo, url }: Pick<Checkout, 'repo' | 'url'>): string =>
  [
    '[user]\n\tname = Cairn\n\temail = cairn@localhost',
    `[url ${quoted(`http://127.0.0.1:${FORWARDER_PORT}${GIT_PREFIX}${repo}`)}]\n\tinsteadOf = ${quoted(url)}`,
    // The box is the boundary; the owner of a folder in it may be another number.
    '[safe]\n\tdirectory = *',
    '',
  ].join('\n')

/**
 * Arguments: the name, the address, the branch, the folder of its worktree. What was cut off is begun anew: a
 * worktree is ready once it says so, a clone once it has its name. Another run may do the same at the moment,
 * so each clones under a name of its own; parts that no checkout can be at work on any more are removed. The
 * worktree finds its clone by a relative path, so that both may be moved or copied with the workspace.
 *
 * Worktrees of other runs are tidied away before a new one is made. `git worktree remove` would look for them
 * where they were before the workspace was copied; so their folder and what the clone has of them are removed
 * here. Their branches stay, with every commit.
 */
const SCRIPT = `
set -eu
name=$1 url=$2 branch=$3 tree=$4
mkdir -p "repos/$name" && cd "repos/$name"
[ ! -e .git ] || { echo "repos/$name is a clone of somebody else's: move it away" >&2; exit 1; }
ready=".clone/.git/worktrees/$tree/ready"
# Taken up again, it is in use again.
[ ! -e "$ready" ] || [ ! -e "$tree" ] || { touch "$ready"; exit 0; }
find . -maxdepth 1 -name '.part-*' -mmin +${CHECKOUT_MS / 60_000} -exec rm -rf {} +
renew() { git -C .clone fetch --quiet origin && git -C .clone remote set-head origin --auto > /dev/null; }
gitdir_of() { echo "gitdir: ../.clone/.git/worktrees/$1"; }
# Of a run, unused, all of it in a branch, and nothing in it but what git has and what tools make again.
is_spent() {
  own=".clone/.git/worktrees/$1"
  [ -e "$own/ready" ] && [ -z "$(find "$own" -mtime -${KEPT_DAYS} -print -quit)" ] || return 1
  grep -q '^ref: refs/heads/' "$own/HEAD" || return 1
  for begun in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG sequencer modules; do
    [ ! -e "$own/$begun" ] || return 1
  done
  [ -e "$1" ] || return 0
  # Somebody's own folder may stand in its place.
  [ "$(cat "$1/.git")" = "$(gitdir_of "$1")" ] || return 1
  held=$(git -C "$1" --no-optional-locks status --porcelain --ignored=matching --untracked-files=normal \\
    --ignore-submodules=none) || return 1
  ! printf '%s' "$held" | grep -qvE '^!! (.*/)?(${MADE_BY_TOOLS.map(escaped).join('|')})/$'
}
if [ -e .clone ]; then
  # Once more where another run had the same ref in hand.
  renew || renew
else
  part=".part-$tree"
  rm -rf "$part"
  git clone --quiet --no-checkout -- "$url" "$part"
  head=$(git -C "$part" rev-parse --quiet --verify origin/HEAD) || {
    rm -rf "$part"; echo "it has no default branch with a commit" >&2; exit 1
  }
  # No branch is held here: a worktree may switch to each.
  git -C "$part" update-ref --no-deref HEAD "$head"
  mv -T -- "$part" .clone 2> /dev/null || rm -rf "$part"
fi
rm -rf "$tree"
if git -C .clone show-ref --quiet --verify "refs/heads/$branch"; then set -- "../$tree" "$branch"
else set -- --no-track -b "$branch" "../$tree" origin/HEAD; fi
for known in .clone/.git/worktrees/*/; do
  known=$(basename "$known")
  # What cannot be removed stays, and is in no run's way.
  if is_spent "$known" 2> /dev/null; then rm -rf "$known" ".clone/.git/worktrees/$known" || :; fi
done
# By force: it may be known already, as a folder that is gone.
git -C .clone worktree add --quiet --lock --force --force "$@"
gitdir_of "$tree" > "$tree/.git"
touch "$ready"
`

/** Rejects with what git said. */
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
    if (exitCode !== 0) throw new Error(overran ?? (said.trim() || `git ended with ${exitCode}`))
  } catch (error) {
    signal.throwIfAborted()
    const why = `the repository ${repo} could not be checked out: ${asError(error).message}`
    throw new Error(why, { cause: error })
  } finally {
    ending.removeEventListener('abort', end)
    await box.close()
  }
}
