/** The account menu and linked accounts. */

export const accountWords = {
  menu: {
    theme: 'Theme',
    keys: 'Keys…',
    admin: 'Administration',
    notices: 'Notifications…',
    links: 'Linked accounts…',
    password: 'Set password…',
    logout: 'Log out',
  },
  account: 'Account',
  linkedAccounts: 'Linked accounts',
  linkedHint:
    'Messages from a linked account count as yours: they use your sessions and can approve for you.',
  unlinkNamed: (account: string) => `Unlink ${account}`,
  unlink: 'Unlink',
  noLinks: 'No linked accounts',
  linkCode: 'Send {command} to the agent in a direct message within 10 minutes. The code works once.',
  anotherCode: 'Create another code',
  linkAccount: 'Link account',
}
