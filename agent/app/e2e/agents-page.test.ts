/**
 * The pages of agents in a real Chromium: a new administrator gets from an empty home to an agent with an own
 * key, an MCP server and a changed prompt, without a file; two people edit at once; cairn.yaml and the editor
 * are at odds.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { startKeyedMcp, startKeyedModel } from './keyed-servers.ts'
import { by, choose, picker, POLL } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const KEY = `plain.words/${'provider'.repeat(3)}`
const MCP_KEY = `plain.words/${'weather'.repeat(3)}`
const PROMPT = 'You forecast the weather, in one sentence.'
const SCENARIO = {
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'Weather' } },
    {
      when: { user: 'weather', system: 'You forecast the weather' },
      steps: [
        { tool_calls: [{ name: 'mcp__weather__forecast', arguments: { city: 'Cluj' } }] },
        { text: 'It will be sunny.' },
      ],
    },
    { answer: { text: 'Understood.' } },
  ],
}

/** Counts what a person does: clicks, choices and fields that are filled. */
function createPerson(page: Page) {
  const steps: string[] = []
  return {
    steps,
    click: async (id: string, more = '') => {
      steps.push(`click ${id}`)
      await by(page, id, more).first().click()
    },
    choose: async (id: string, value: string) => {
      steps.push(`choose ${id}`)
      await choose(by(page, id), value)
    },
    fill: async (id: string, text: string) => {
      steps.push(`fill ${id}`)
      await by(page, id).fill(text)
    },
  }
}

/** Promise 12: A new administrator gets from an empty home to an agent with an own model without a file. */
test(
  'a new administrator connects a model and an MCP server and changes a prompt, without a file',
  async () => {
    const model = await startKeyedModel([KEY], SCENARIO)
    const mcp = await startKeyedMcp(MCP_KEY)
    const server = await startService(makePlace())
    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(server.loginUrl)
    await page.waitForURL(url => url.pathname === '/')
    const person = createPerson(page)

    await person.click('nav-agents')
    await person.click('connect-first-model')
    await person.choose('provider-preset', 'Other server with the OpenAI protocol')
    await person.fill('provider-name', 'acme')
    await person.fill('provider-url', `${model.url}/v1`)
    await person.fill('provider-key', 'wrong')
    await person.click('connect-provider')
    await person.click('test-provider')
    // The first key is wrong, and the test says how to fix it.
    await page.getByText('The server rejected the key (401)').waitFor()
    await page.getByText('Replace the key', { exact: true }).waitFor()
    await person.click('open-secret')
    await person.fill('secret-value', KEY)
    await person.click('save-secret')
    await by(page, 'save-secret').waitFor({ state: 'detached' })
    await person.click('test-provider')
    await person.click('use-large')
    await by(page, 'provider-acme').getByText('Default', { exact: true }).waitFor()
    await person.click('test-large')
    await by(page, 'test-result', '[data-ok="true"]').waitFor()
    await lookWithAxe(page, 'models')
    await takePictures(page, 'models', async () => {
      await by(page, 'provider-acme').waitFor()
    })

    await person.click('agents-mcp-servers')
    await person.fill('mcp-name', 'weather')
    await person.fill('mcp-url', `${mcp.url}/mcp`)
    await person.fill('mcp-secret-name', 'x-weather-key')
    await person.fill('mcp-secret', MCP_KEY)
    await person.click('connect-mcp')
    await person.click('test-mcp-server')
    await page.getByText('mcp__weather__forecast').waitFor()
    await lookWithAxe(page, 'mcp-servers')
    await takePictures(page, 'mcp-servers')

    await person.click('agent-assistant')
    await person.click('edit-agent')
    const prompt = page.getByLabel('System prompt')
    person.steps.push('fill System prompt')
    await prompt.fill(PROMPT)
    await choose(picker(page, 'Approval for Run commands'), 'Ask')
    await by(page, 'version-diff').getByText(PROMPT).waitFor()
    await lookWithAxe(page, 'agent-editor')
    await takePictures(page, 'agent-editor')
    await person.click('publish')
    await by(page, 'agent-prompt').filter({ hasText: PROMPT }).waitFor()
    await by(page, 'version-1').getByText('Live').waitFor()
    await lookWithAxe(page, 'agent')
    await by(page, 'agent-prompt').scrollIntoViewIfNeeded()
    await takePictures(page, 'agent')

    await page.goto(server.url)
    await by(page, 'home-task').fill('What about the weather?')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/sessions/*')
    await page.getByText('It will be sunny.').waitFor()
    console.log(`steps from an empty home to a running agent: ${person.steps.length}`)
    expect(person.steps.length).toBeLessThanOrEqual(26)
    expect(await page.content()).not.toContain(KEY)
    expect(troubles).toEqual([])
  },
  2 * PATIENCE_MS,
)

test(
  'the second of two editors sees both texts and chooses, and a version is restored',
  async () => {
    const server = await startService(makePlace({ scenario: SCENARIO }))
    const browser = await openBrowser()
    const open = async () => {
      const { page, troubles } = await openPage(browser)
      await page.goto(await loginLink(server))
      await page.waitForURL(url => url.pathname === '/')
      await page.goto(`${server.url}/agents/assistant`)
      await by(page, 'edit-agent').click()
      return { page, troubles }
    }
    const [one, two] = [await open(), await open()]
    await one.page.getByLabel('System prompt').fill('The text of the first.')
    await two.page.getByLabel('System prompt').fill('The text of the second.')
    await by(one.page, 'publish').click()
    await by(one.page, 'agent-prompt').filter({ hasText: 'The text of the first.' }).waitFor()
    await by(two.page, 'publish').click()
    const conflict = by(two.page, 'conflict')
    await conflict.getByText('Changed in the meantime').waitFor()
    expect(await by(two.page, 'their-text').textContent()).toContain('The text of the first.')
    expect(await by(two.page, 'my-text').textContent()).toContain('The text of the second.')
    await lookWithAxe(two.page, 'agent-conflict')
    await takePictures(two.page, 'agent-conflict')

    // The text survives a reload, and goes on top of the other version.
    await by(two.page, 'keep-mine').click()
    await two.page.reload()
    expect(await two.page.getByLabel('System prompt').inputValue()).toBe('The text of the second.')
    await by(two.page, 'publish').click()
    await by(two.page, 'version-2').getByText('Live').waitFor()
    await two.page.getByLabel('Restore v1').click()
    await by(two.page, 'version-3').getByText('Restored v1').waitFor()
    await by(two.page, 'agent-prompt').filter({ hasText: 'The text of the first.' }).waitFor()
    await by(two.page, 'agents-changes').click()
    await expect.poll(() => by(two.page, 'changes', ' tbody tr').count(), POLL).toBe(3)
    await lookWithAxe(two.page, 'changes')
    // The rejected request is the only one.
    expect([...one.troubles, ...two.troubles].filter(text => !text.includes('409'))).toEqual([])
  },
  PATIENCE_MS,
)

test(
  'an agent of cairn.yaml says that the file wins, and an edit of it is kept and shown',
  async () => {
    const config = { agents: { helper: { system: 'From the file.' } } }
    const server = await startService(makePlace({ scenario: SCENARIO, config }))
    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(server.loginUrl)
    await page.waitForURL(url => url.pathname === '/')
    await page.goto(`${server.url}/agents/helper`)
    await page.getByText(/Defined in cairn\.yaml, line \d+/).waitFor()
    await by(page, 'make-editable').click()
    await page.getByLabel('System prompt').fill('From the editor.')
    await by(page, 'publish').click()
    await by(page, 'overridden')
      .getByText(/Overridden by cairn\.yaml, line \d+/)
      .waitFor()
    expect(await by(page, 'agent-prompt').textContent()).toContain('From the file.')
    await by(page, 'edit-agent').click()
    expect(await page.getByLabel('System prompt').inputValue()).toBe('From the editor.')
    await by(page, 'discard').click()
    expect(troubles).toEqual([])
  },
  PATIENCE_MS,
)

test(
  'a member reads everything and changes nothing, and a skill is tested with and without',
  async () => {
    const scenario = {
      rules: [
        { when: { user: 'Answer in rhymes' }, answer: { text: 'A rhyme in time.' } },
        { answer: { text: 'Plain words.' } },
      ],
    }
    const server = await startService(makePlace({ scenario }))
    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(server.loginUrl)
    await page.waitForURL(url => url.pathname === '/')
    await page.goto(`${server.url}/agents/-/skills`)
    await by(page, 'add-skill').click()
    await by(page, 'setting-name').fill('rhyme')
    await by(page, 'name-setting').click()
    await page.getByLabel('Description').fill('Answers in rhymes.')
    await page.getByLabel('Instructions').fill('Answer in rhymes: $ARGUMENTS')
    await by(page, 'publish').click()
    await by(page, 'skill-rhyme').getByText('Test run').click()
    await by(page, 'skill-test-message').fill('What time is it?')
    await by(page, 'run-skill-test').click()
    await page.getByText('A rhyme in time.').waitFor()
    await page.getByText('Plain words.').waitFor()
    await lookWithAxe(page, 'skills')
    await takePictures(page, 'skills')

    const { login_token } = await server.client.call('createUser', {
      body: { email: 'bob@example.org', name: 'Bob', admin: false },
    })
    const member = await openPage(await openBrowser())
    await member.page.goto(`${server.url}/login#token=${login_token}`)
    await member.page.waitForURL(url => url.pathname === '/')
    await member.page.goto(`${server.url}/agents/assistant`)
    await member.page.getByText('Read-only: only administrators can change this').waitFor()
    expect(await by(member.page, 'edit-agent').count()).toBe(0)
    await by(member.page, 'agents-models').click()
    await by(member.page, 'provider-test').waitFor()
    expect(await by(member.page, 'test-provider').count()).toBe(0)
    expect([...troubles, ...member.troubles]).toEqual([])
  },
  PATIENCE_MS,
)

async function loginLink({ client, url }: Awaited<ReturnType<typeof startService>>): Promise<string> {
  const { users } = await client.call('listUsers', {})
  const { login_token } = await client.call('createLoginLink', { params: { user_id: users[0]?.id ?? '' } })
  return `${url}/login#token=${login_token}`
}
