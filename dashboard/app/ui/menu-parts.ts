/** The menu components, which are a fifth of a page's code. They are loaded when a user is about to open a menu. */
export { DropdownMenu as menuParts } from 'radix-ui';
