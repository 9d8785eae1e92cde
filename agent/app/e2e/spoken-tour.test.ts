/**
 * The demo tour as a screen reader gets it: the accessibility tree at each stop, and the announcements on the
 * way.
 */
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'
import { faultsOf, listen, liveParts, readTree, saidAloud } from './spoken.ts'

test('at every stop, elements have names and landmarks, and live regions announce changes', async () => {
  const server = await startService(makePlace())
  const { page, troubles } = await openPage(await openBrowser())
  await listen(page)
  const session = await page.context().newCDPSession(page)
  await session.send('Accessibility.enable')
  const faults: string[] = []
  /** `wanted` are roles and names that are read in this order. `live` are the live regions. */
  async function stop(name: string, wanted: [string, string | RegExp][], live?: string[]): Promise<void> {
    const isThere = (tree: Awaited<ReturnType<typeof readTree>>) => {
      let next = 0
      for (const { role, name } of tree) {
        const [wantedRole, words] = wanted[next] ?? []
        if (words === undefined) break
        if (role === wantedRole && (typeof words === 'string' ? name === words : words.test(name))) next += 1
      }
      return next === wanted.length ? 'all' : String(wanted[next])
    }
    let tree = await readTree(session)
    await expect
      .poll(async () => isThere((tree = await readTree(session))), { timeout: PATIENCE_MS })
      .toBe('all')
      .catch((error: unknown) => {
        const read = tree.filter(each => each.role !== 'InlineTextBox' && each.role !== 'StaticText')
        const lines = read.map(({ role, name: words }) => `${role} "${words.slice(0, 60)}"`)
        throw new Error(`${name}: ${String(error)}\n${lines.join('\n')}`)
      })
    faults.push(...faultsOf(tree).map(fault => `${name}: ${fault}`))
    if (live !== undefined) expect(liveParts(tree), name).toEqual(expect.arrayContaining(live))
  }
  const press = (role: 'button' | 'tab' | 'link', name: RegExp) =>
    page.getByRole(role, { name }).first().click()

  await page.goto(`${server.url}/login`)
  await stop('login', [
    ['heading', 'Cairn'],
    ['textbox', /mail/i],
    ['textbox', /Password/],
    ['button', 'Log in'],
  ])
  await page.goto('about:blank')
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await stop('home', [
    ['complementary', 'Sidebar'],
    ['link', 'Cairn, home'],
    ['link', 'New session'],
    ['navigation', 'Main'],
    ['link', /^Inbox/],
    ['main', ''],
    ['heading', 'Give an agent something to do'],
    ['textbox', 'Task'],
    ['button', /^Take the tour/],
  ])
  await press('button', /^Take the tour/)
  await stop(
    'a question',
    [
      ['heading', 'Show me what you can do'],
      ['log', 'Conversation'],
      ['region', 'Question'],
      ['radiogroup', 'What should the last line of my notes say?'],
      ['radio', /^Logs do not forget/],
      ['textbox', 'Your answer'],
    ],
    ['log "Conversation"', 'status'],
  )
  await expect.poll(() => saidAloud(page)).toMatch(/Agent is working|The model is responding/)
  await expect.poll(() => saidAloud(page)).toContain('What should the last line of my notes say?')
  await page.getByTestId('composer').fill('1')
  await page.keyboard.press('Enter')
  await stop('an approval', [
    ['log', 'Conversation'],
    ['region', /^Approval: Run /],
    ['heading', /^Run /],
    ['button', /^Reject/],
    ['button', /^Approve once/],
    ['textbox', 'Message'],
  ])
  await expect.poll(() => saidAloud(page)).toMatch(/Run .*wc -w/)
  await page.getByRole('button', { name: /^Approve once/ }).click()
  await page.getByText('It ran, and printed').waitFor()
  await stop('the mission and its loop', [
    ['log', 'Conversation'],
    ['region', /^Approval: Schedule /],
    ['button', /^Approve once/],
  ])
  await expect.poll(() => saidAloud(page)).toContain('It ran, and printed')
  await page
    .getByRole('region', { name: /^Approval: Schedule / })
    .getByRole('button', { name: /^Approve once/ })
    .click()
  await page.getByText('The schedule is set up').waitFor()

  // The details opened by themselves, with the plan.
  for (const [tab, part, words] of [
    ['Overview', 'image', 'done'],
    ['Changes', 'button', /Turn/],
    ['Files', 'button', /notes\.md/],
    ['Artifacts', 'figure', 'What you are seeing'],
    ['Timeline', 'button', /demo\/scripted/],
  ] as const) {
    await press('tab', new RegExp(`^${tab}$`))
    await stop(`beside the chat: ${tab}`, [
      ['log', 'Conversation'],
      ['complementary', 'Details'],
      ['tab', tab],
      ['tabpanel', tab],
      [part, words],
    ])
  }
  await page.keyboard.press('Escape')
  await press('tab', /^Workers/)
  await stop('workers', [
    ['tab', /^Workers/],
    ['tabpanel', /^Workers/],
    ['link', /Count the lines/],
  ])
  await press('tab', /^EVENTS/)
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await stop('events', [
    ['tabpanel', /^EVENTS/],
    ['searchbox', 'Filter by text'],
    ['grid', 'Events'],
    ['columnheader', 'Type'],
    ['row', /user\.message/],
    ['complementary', 'Details'],
    ['button', /Copy JSON/],
  ])
  for (const [path, title, part, name] of [
    ['/inbox', 'Inbox', 'main', ''],
    ['/missions', 'Missions', 'link', /See what is there/],
    ['/schedules', 'Schedules', 'rowheader', /A loop/],
    ['/notices', 'Notifications', 'checkbox', 'Questions'],
    ['/admin/users', 'Settings', 'columnheader', 'Email'],
  ] as const) {
    await page.goto(server.url + path)
    await stop(
      path,
      part === 'main'
        ? [
            [part, name],
            ['heading', title],
          ]
        : [
            ['heading', title],
            [part, name],
          ],
    )
  }
  expect(faults, faults.join('\n')).toEqual([])
  expect(troubles).toEqual([])
})
