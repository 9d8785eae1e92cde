/** The first page on the first day. */

export const homeFirstWords = {
  firstDay: 'Give an agent something to do',
  firstDayText:
    'Cairn runs agents that keep working while you are away, ask before anything risky ' +
    'and survive a restart. Every step is recorded, so you can see, undo and explain what they did.',
  tour: 'Take the tour',
  tourTime: '4 min',
  tourText: 'Plan, workers, a real browser, an approval and a schedule. Works without a key.',
  connect: 'Connect a model',
  connectTime: '1 min',
  connectText: 'Paste a provider key or name a local server. Until then answers are scripted.',
  files: 'Work on your files',
  filesText: 'Attach files to a task. Risky actions wait for your approval.',
}
