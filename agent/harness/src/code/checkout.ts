/**
 * The clone that a run works in: `repos/<name>` of the workspace, on a branch of the run's own. Git runs in a
 * box like the agent's, for a repository may bring programs of its own. Its address stays the real one; in
 * the box the settings of git lead it to the broker.
 */
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import type { Box } from '../sandbox/box.ts'
import { FORWARDER_PORT } from '../sandbox/forwarder.ts'
import { GIT_PREFIX } from './git-broker.ts'

export type Checkout = { repo: string; url: string; branch: string }

/** Of the longest clone. */
const CHECKOUT_MS = 10 * 60_000
const SAID_CHARS = 500

/** Where it lies in a workspace. */
export const checkoutIn = (workspace: string, repo: string): string => join(workspace, 'repos', repo)
/** Of a run; the same whenever the run is taken up. */
export const branchOf = (run_id: string): string => `cairn/${run_id.replaceAll('-', '').slice(0, 8)}`

/** A value of git's settings, which has escapes for these two alone. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

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
 * Arguments: the name, the address, the branch. A clone that was cut off is begun anew; a branch that is
 * there is that of a run which goes on.
 */
const SCRIPT = `
set -eu
name=$1 url=$2 branch=$3
mkdir -p repos && cd repos
if [ ! -e "$name" ]; then
  rm -rf ".$name.part"
  git clone --quiet -- "$url" ".$name.part"
  git -C ".$name.part" switch --quiet -c "$branch"
  mv -T -- ".$name.part" "$name"
  exit
fi
cd "$name"
[ -e .git ] || { echo "repos/$name is there and is no clone: move it away" >&2; exit 1; }
git rev-parse --quiet --verify "refs/heads/$branch" > /dev/null && exit
[ -z "$(git status --porcelain --untracked-files=no)" ] || {
  echo "repos/$name has changes that are in no commit: commit them or take them back first" >&2; exit 1
}
git fetch --quiet origin
git remote set-head origin --auto > /dev/null
git switch --quiet --no-track -c "$branch" origin/HEAD
`

/** Rejects with what git said. */
export async function checkOut(
  box: Box,
  { repo, url, branch }: Checkout,
  signal: AbortSignal,
): Promise<void> {
  const late = AbortSignal.timeout(CHECKOUT_MS)
  const ending = AbortSignal.any([signal, late])
  const running = box.spawn(['bash', '-c', SCRIPT, 'checkout', repo, url, branch])
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
  } catch (thrown) {
    signal.throwIfAborted()
    const why = `the repository ${repo} could not be checked out: ${asError(thrown).message}`
    throw new Error(why, { cause: thrown })
  } finally {
    ending.removeEventListener('abort', end)
    await box.close()
  }
}
