/**
 * A person links an account of a messaging platform on the page, sends a message through it, and unlinks it.
 */
import { startCallback } from '@cairn/channels/test/callback'
import { SECRET, signed } from '@cairn/channels/test/signed'
import { expect, onTestFinished, test } from 'vitest'
import { createLooks } from './axe-look.ts'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const POLL = { timeout: PATIENCE_MS }
const scenario = { rules: [{ when: { user: '^(.*)$' }, answer: { text: 'echo {{user.1}}' } }] }

test(
  'a code from the page links an account, and its messages belong to the person until it is unlinked',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const callback = await startCallback(SECRET)
    onTestFinished(callback.close)
    const hook = { platform: 'webhook', secret_env: 'HOOK', callback_url: callback.url, access: 'linked' }
    const place = makePlace({ scenario, config: { agents: { greeter: {} }, channels: { hook } } })
    place.env['HOOK'] = SECRET
    const server = await startService(place)
    const { client } = server
    const path = (await client.call('listChannels', {})).channels[0]?.webhook_path ?? 'none'
    const send = async (text: string): Promise<void> => {
      const { headers, raw } = signed({ text })
      const { status } = await fetch(server.url + path, { method: 'POST', headers, body: Buffer.from(raw) })
      expect(status).toBe(200)
    }
    const last = (): string | undefined => callback.seen().at(-1)?.text

    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(server.loginUrl)
    await page.waitForURL(url => url.pathname === '/')
    await page.getByTestId('account').first().click()
    await page.getByTestId('open-links').click()
    const dialog = page.getByRole('dialog', { name: 'Linked accounts' })
    await dialog.getByText('No linked accounts').waitFor()

    // By keyboard: the code, and the message that sends it to the agent.
    await page.getByTestId('make-link-code').focus()
    await page.keyboard.press('Enter')
    const told = await page.getByTestId('link-code').locator('code').textContent()
    expect(told).toMatch(/^\/link [A-Z2-9]{4}-[A-Z2-9]{4}$/)
    await send('hello')
    await expect.poll(last, POLL).toContain('I only talk to people with linked accounts.')
    await send(told ?? '')
    await expect.poll(last, POLL).toContain('This account is now linked to')
    const linked = page.getByTestId('linked-accounts').getByRole('listitem')
    await expect.poll(() => linked.allTextContents(), POLL).toEqual([expect.stringContaining('webhook')])
    await send('hello')
    await expect.poll(last, POLL).toBe('echo hello')
    const { sessions } = await client.call('listSessions', {})
    expect(sessions).toMatchObject([{ channel: 'webhook', created_by: (await client.call('me', {})).id }])

    // The code was valid for one account only.
    await send(told ?? '')
    await expect.poll(last, POLL).toContain('Invalid code.')
    await dialog.getByRole('button', { name: /^Unlink / }).click()
    await dialog.getByText('No linked accounts').waitFor()
    const before = callback.seen().length
    await send('hello again')
    await send(told ?? '')
    await expect.poll(last, POLL).toContain('Invalid code.')
    expect(
      callback
        .seen()
        .slice(before)
        .map(({ text }) => text),
    ).not.toContain('echo hello again')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    // The page below the dialog is accessible again, also to screen readers.
    await page.getByRole('main').first().waitFor()
    expect(await page.locator('main:is([inert], [inert] *, [aria-hidden=true] *)').count()).toBe(0)
    expect(troubles).toEqual([])

    // Last, because the phone layout has a different menu and closes its dialog.
    await page.getByTestId('account').first().click()
    await page.getByTestId('open-links').click()
    await page.getByTestId('make-link-code').click()
    await page.getByTestId('link-code').waitFor()
    const { look, found } = createLooks(page, server.url)
    await look('linked accounts')
    expect(found, found.join('\n')).toEqual([])
  },
)
