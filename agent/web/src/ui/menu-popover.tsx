/** The open menu of a button. Apart from menu-button.tsx: the first page has no menu open. */
import type { RefObject } from 'react'
import { Menu, MenuItem, Popover } from 'react-aria-components'
import type { MenuSpec } from './menu-button.tsx'

type Props = { menu: MenuSpec; button: RefObject<HTMLButtonElement | null>; onClose: () => void }

// React.lazy takes a default export only.
export default function MenuPopover({ menu, button, onClose }: Props) {
  return (
    <Popover
      className="popover"
      placement={menu.placement ?? 'bottom end'}
      triggerRef={button}
      isOpen
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
    >
      {menu.head}
      <Menu
        className="menu"
        aria-label={menu.label}
        autoFocus="first"
        disabledKeys={menu.disabled ?? []}
        onAction={key => {
          onClose()
          menu.onChoose(String(key))
        }}
        onClose={onClose}
      >
        {menu.entries.map(({ id, text, icon, detail, testId }) => (
          <MenuItem key={id} id={id} textValue={text} className="menu-item" data-testid={testId}>
            {icon}
            <span>{text}</span>
            {detail !== undefined && <span className="faint">{detail}</span>}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  )
}
