import { Copy } from 'lucide-react';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { Button } from '../ui/button.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';
import { toast } from '../ui/toast.tsx';
import type { CopyFormat, ExchangeCopy } from '../../src/captured/exchange-formats.ts';

/** Fetches the text from the server, because it can contain bodies that are too long for a page. */
const readCopy = async (exchange: RequestName, format: CopyFormat): Promise<ExchangeCopy> => {
  const response = await fetch(paths.exchangeCopy(exchange, { as: format }));
  if (!response.ok) throw new Error('the request can’t be read. Reload the page and try again.');
  return (await response.json()) as ExchangeCopy;
};

const copyAs = async (exchange: RequestName, format: CopyFormat): Promise<void> => {
  try {
    const { text, notes } = await readCopy(exchange, format);
    await navigator.clipboard.writeText(text);
    toast(['Copied.', ...notes].join(' '));
  } catch (error) {
    toast(error instanceof Error ? `Not copied: ${error.message}` : 'Not copied', 'bad');
  }
};

/** A menu that copies the request in the formats of other programs. The `c` key copies the curl command. */
export const CopyMenu = ({ exchange }: { readonly exchange: RequestName }) => {
  const copy = (format: CopyFormat) => () => void copyAs(exchange, format);
  useShortcuts([{ keys: 'c', label: 'Copy this request as cURL', run: copy('curl') }]);
  return (
    <Menu
      trigger={
        <Button>
          <Copy aria-hidden />
          Copy as
        </Button>
      }
    >
      <MenuItem onSelect={copy('curl')}>
        <span className="mr-auto">cURL</span>
        <Kbd>c</Kbd>
      </MenuItem>
      <MenuItem onSelect={copy('fetch')}>fetch (JavaScript)</MenuItem>
      <MenuItem onSelect={copy('har')}>HAR</MenuItem>
    </Menu>
  );
};
