/** Where the browsers of a worker come from: a Chromium in a box each. */
import type { Config } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import { launchBrowser, type LaunchOptions } from './launch.ts'
import type { BrowserSecrets } from './secrets.ts'
import { openSessionBrowser, type SessionBrowser } from './session-browser.ts'

/** `id` is the browser's. Rejects with a sentence where none could be started. */
export type OpenBrowser = (
  asked: { id: string } & Pick<LaunchOptions, 'session_id' | 'egress' | 'storage'>,
) => Promise<SessionBrowser>

export type BoxedBrowserParts = Pick<LaunchOptions, 'provider' | 'proxy' | 'program' | 'makeFolder'> & {
  config: Pick<Config['browser'], 'memory_mb'>
  secrets: BrowserSecrets
  clock: Clock
}

export const openBoxedBrowser =
  ({ config, ...parts }: BoxedBrowserParts): OpenBrowser =>
  async asked => {
    const launched = await launchBrowser({ ...parts, ...asked, memory_mb: config.memory_mb })
    try {
      return await openSessionBrowser(asked.id, asked.session_id, launched, parts)
    } catch (thrown) {
      await launched.close()
      throw thrown
    }
  }
