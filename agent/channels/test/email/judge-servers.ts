/** Dovecot and aiosmtpd in their own directory, for the interop test of the email channel. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { wait } from '../../src/wait.ts'

/** System packages, as is aiosmtpd: npm does not provide them. */
const DOVECOT = 'dovecot'

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => void server.close(resolve))
  return port
}

/**
 * Accepts any user with the password `secret`. Root hands the emails to `nobody`: Dovecot reads none of root.
 */
export async function startDovecot(dir: string, port: number): Promise<ChildProcess> {
  const { uid, gid, username } = userInfo()
  const [mailUid, mailGid] = uid === 0 ? [65_534, 65_534] : [uid, gid]
  const home = join(dir, 'mail')
  mkdirSync(home)
  chmodSync(home, 0o777)
  chmodSync(dir, 0o755)
  const own = uid === 0 ? '' : `default_login_user = ${username}\ndefault_internal_user = ${username}\n`
  writeFileSync(
    join(dir, 'dovecot.conf'),
    `${own}base_dir = ${dir}/run
state_dir = ${dir}/state
log_path = ${dir}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
first_valid_uid = ${mailUid}
mail_location = maildir:~/Maildir
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=${mailUid} gid=${mailGid} home=${home}/%u
}
service anvil {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
`,
  )
  return begun(spawn(DOVECOT, ['-F', '-c', join(dir, 'dovecot.conf')], { stdio: 'inherit' }), port)
}

/** Accepts every email and stores it as a file below `out/new`. */
export const startAiosmtpd = (dir: string, port: number, python: string): Promise<ChildProcess> =>
  begun(
    spawn(
      python,
      [
        '-m',
        'aiosmtpd',
        '-n',
        '-l',
        `127.0.0.1:${port}`,
        '-c',
        'aiosmtpd.handlers.Mailbox',
        join(dir, 'out'),
      ],
      { stdio: 'inherit' },
    ),
    port,
  )

async function begun(child: ChildProcess, port: number): Promise<ChildProcess> {
  let problem: string | null = null
  child.once('error', error => (problem = error.message))
  child.once('exit', code => (problem ??= `it ended with ${code}`))
  for (let tries = 0; tries < 100; tries++) {
    if (problem !== null) throw new Error(`${child.spawnfile} did not start: ${problem as string}`)
    if (await answers(port)) return child
    await wait(100, new AbortController().signal)
  }
  throw new Error(`${child.spawnfile} does not listen`)
}

async function answers(port: number): Promise<boolean> {
  const { connect } = await import('node:net')
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(false))
  })
}
