/** Where the browsers of a worker come from: a Chromium in a box each, or a connection to one elsewhere. */
import type { Config } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import { type Launched, launchBrowser, type LaunchOptions } from './launch.ts'
import { connectBrowser } from './remote.ts'
import type { BrowserSecrets } from './secrets.ts'
import type { SessionBrowser } from './session-browser.ts'

/** `id` is the browser's. Rejects with a sentence where none could be started. */
export type OpenBrowser = (
  asked: { id: string } & Pick<LaunchOptions, 'session_id' | 'egress' | 'storage'>,
) => Promise<SessionBrowser>

type CommonParts = Pick<LaunchOptions, 'makeFolder'> & { secrets: BrowserSecrets; clock: Clock }
export type SandboxedBrowserParts = CommonParts &
  Pick<LaunchOptions, 'provider' | 'proxy' | 'program'> & { config: Pick<Config['browser'], 'memory_mb'> }

export const openSandboxedBrowser = ({ config, ...parts }: SandboxedBrowserParts): OpenBrowser =>
  openWith(asked => launchBrowser({ ...parts, ...asked, memory_mb: config.memory_mb }), parts)

export const openRemoteBrowser = ({ url, ...parts }: CommonParts & { url: string }): OpenBrowser =>
  openWith(asked => connectBrowser({ ...parts, ...asked, url }), parts)

const openWith =
  (launch: (asked: Parameters<OpenBrowser>[0]) => Promise<Launched>, parts: CommonParts): OpenBrowser =>
  async asked => {
    const launched = await launch(asked)
    try {
      // With the first browser: what drives it is an MCP server, whose SDK occupies some 5 MB.
      const { openSessionBrowser } = await import('./session-browser.ts')
      return await openSessionBrowser(asked.id, asked.session_id, launched, parts)
    } catch (error) {
      await launched.close()
      throw error
    }
  }
