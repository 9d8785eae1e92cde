/** The Telegram fake, verified by grammY's own Bot, which holds a typical conversation over it. */
import { Bot, InlineKeyboard } from 'grammy'
import { expect, onTestFinished, test } from 'vitest'
import { BOB, GROUP, startFakeTelegram, TOKEN } from './fake-telegram.ts'

async function startBot() {
  const telegram = await startFakeTelegram()
  onTestFinished(telegram.close)
  const bot = new Bot(TOKEN, { client: { apiRoot: telegram.url } })
  const heard: string[] = []
  const buttons = (...labels: string[]): InlineKeyboard =>
    InlineKeyboard.from([labels.map((label, at) => InlineKeyboard.text(label, `prompt:${at}:${label}`))])
  bot.command('stop', async ctx => {
    heard.push(`/stop ${ctx.match}`)
    await ctx.reply('Stopped.')
  })
  bot.hears('hello', ctx => ctx.reply('Which?', { reply_markup: buttons('Red', 'Blue') }))
  bot.hears('run it', ctx => ctx.reply('Approval needed', { reply_markup: buttons('Approve', 'Reject') }))
  bot.callbackQuery(/^prompt:\d:(.+)$/, async ctx => {
    const [, label] = ctx.match
    if (ctx.from.id === BOB.id)
      return void (await ctx.answerCallbackQuery({
        text: 'You are not allowed to decide this.',
        show_alert: true,
      }))
    heard.push(`${ctx.from.first_name}: ${label}`)
    await ctx.answerCallbackQuery()
    await ctx.editMessageText(`${ctx.msg?.text}: ${label} by ${ctx.from.first_name}`)
  })
  bot.on('edited_message:text', ctx => void heard.push(`edited: ${ctx.editedMessage.text}`))
  bot.on('message:document', async ctx => {
    const { file_path } = await ctx.getFile()
    heard.push(`${ctx.message.caption} ${file_path}`)
  })
  const running = bot.start({ drop_pending_updates: false })
  onTestFinished(async () => {
    await bot.stop()
    await running
  })
  const texts = (): string[] => telegram.messages.map(({ text }) => text)
  return { telegram, heard, texts }
}

test('a grammY bot asks a question, receives clicks, gets an approval and is stopped', async () => {
  const { telegram, heard, texts } = await startBot()
  telegram.say('hello')
  await expect.poll(texts).toEqual(['Which?'])
  telegram.press('Blue')
  await expect.poll(texts).toEqual(['Which?: Blue by Ann'])
  telegram.say('run it')
  await expect.poll(texts).toEqual(['Which?: Blue by Ann', 'Approval needed'])
  telegram.press('Approve', BOB)
  await expect.poll(() => telegram.alerts).toEqual(['You are not allowed to decide this.'])
  telegram.press('Approve')
  await expect.poll(() => texts().at(-1)).toBe('Approval needed: Approve by Ann')
  telegram.say('/stop', { entities: [{ type: 'bot_command', offset: 0, length: 5 }] })
  await expect.poll(() => texts().at(-1)).toBe('Stopped.')
  expect(heard).toEqual(['Ann: Blue', 'Ann: Approve', '/stop '])
})

test('a grammY bot receives edits, files and group commands as Telegram sends them', async () => {
  const { telegram, heard, texts } = await startBot()
  telegram.edit(telegram.say('helo'), 'hello there')
  await expect.poll(() => heard).toEqual(['edited: hello there'])
  telegram.say('', { caption: 'read', document: { file_id: 'f1', file_unique_id: 'u', file_name: 'a.txt' } })
  await expect.poll(() => heard.at(-1)).toBe('read files/f1')
  const command = { entities: [{ type: 'bot_command', offset: 0, length: 15 }], chat: GROUP, from: BOB }
  telegram.say('/stop@cairn_bot now', command)
  await expect.poll(texts).toEqual(['Stopped.'])
  expect(heard.at(-1)).toBe('/stop now')
  expect(telegram.messages[0]?.chat_id).toBe(GROUP.id)
})
