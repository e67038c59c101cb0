import { join } from "node:path";
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import {
  isBindingElement,
  isCallExpression,
  isElementAccessExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isStringLiteral,
} from "typescript/unstable/ast/is";
import { API, type Checker, type Project, type Symbol, SymbolFlags } from "typescript/unstable/sync";
import { root } from "./sources.ts";

/** Something that a source uses and another place declares, found by what it is and not by what it is called there. */
export interface Use {
  readonly file: string;
  readonly line: number;
  /** The word in the source. */
  readonly node: Node;
  /** What it was declared as. */
  readonly name: string;
  /**
   * Where: `lib` (the language), `node:<module>` (a file of @types/node without its ending), the name of a package, or the path of a
   * source of ours.
   */
  readonly from: string;
}

/** The compiler's view of the whole repository. */
export class Sources {
  readonly #api = new API({ cwd: root });
  readonly #project: Project;

  constructor() {
    const [project] = this.#api.updateSnapshot({ openProjects: [join(root, "tsconfig.json")] }).getProjects();
    if (!project) throw new Error("The compiler does not know the project of tsconfig.json.");
    this.#project = project;
  }

  close(): void {
    this.#api.close();
  }

  get checker(): Checker {
    return this.#project.checker;
  }

  /** Throws when the file is not part of the project: rules about it would hold nothing. */
  tree(file: string): SourceFile {
    const tree = this.#project.program.getSourceFile(join(root, file));
    if (!tree) throw new Error(`${file} is not among the sources of tsconfig.json.`);
    return tree;
  }

  /** Every use in the file, through aliases, re-exports, destructuring and element access by a literal. */
  uses(file: string): Use[] {
    const tree = this.tree(file);
    const words = nodesOf(tree).filter(
      (node) => isIdentifier(node) || (isStringLiteral(node) && isElementAccessExpression(node.parent)),
    );
    const symbols = this.checker.getSymbolAtLocation(words);
    return words.flatMap((node, index) => {
      const symbol = taken(this.checker, node) ?? symbols[index];
      const declared = symbol && this.#declaration(symbol);
      return declared ? [{ file, line: lineOf(tree, node), node, ...declared }] : [];
    });
  }

  /** Module specifiers a source imports or re-exports: static, dynamic, as types, and by `require`. */
  imports(file: string): string[] {
    return nodesOf(this.tree(file)).flatMap((node) =>
      isStringLiteral(node) && namesModule(node) ? [node.text] : [],
    );
  }

  #declaration(symbol: Symbol): { readonly name: string; readonly from: string } | undefined {
    const original = symbol.flags & SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
    const path = original.declarations?.[0]?.path;
    return path === undefined ? undefined : { name: original.name, from: origin(path) };
  }
}

export const nodesOf = (tree: Node): Node[] => {
  const nodes: Node[] = [];
  const visit = (node: Node): undefined => {
    nodes.push(node);
    node.forEachChild(visit);
  };
  visit(tree);
  return nodes;
};

const namesModule = ({ parent }: Node): boolean => {
  if (isImportDeclaration(parent) || isExportDeclaration(parent)) return true;
  if (parent.kind === SyntaxKind.LiteralType) return parent.parent.kind === SyntaxKind.ImportType;
  if (!isCallExpression(parent)) return false;
  const called = parent.expression;
  return called.kind === SyntaxKind.ImportKeyword || (isIdentifier(called) && called.text === "require");
};

export const lineOf = (tree: SourceFile, node: Node): number =>
  tree.text.slice(0, node.getStart()).split("\n").length;

/** `const { random } = Math` uses Math's property; the word itself names something new. */
const taken = (checker: Checker, node: Node): Symbol | undefined => {
  const element = node.parent;
  if (!isBindingElement(element) || element.parent.kind !== SyntaxKind.ObjectBindingPattern) return undefined;
  const key = element.propertyName ?? element.name;
  if (key !== node || !isIdentifier(key)) return undefined;
  const type = checker.getTypeAtLocation(element.parent);
  return type && checker.getPropertyOfType(type, key.text);
};

const origin = (path: string): string => {
  const [, inPackages] = /.*\/node_modules\/(.*)$/.exec(path) ?? [];
  if (inPackages === undefined) {
    return /\/lib\.[\w.]+\.d\.ts$/.test(path) ? "lib" : path.slice(root.length + 1);
  }
  const node = /^@types\/node\/(.*)\.d\.ts$/.exec(inPackages)?.[1];
  if (node !== undefined) return `node:${node}`;
  if (/^(@typescript\/[^/]+|typescript)\/.*\blib\.[\w.]+\.d\.ts$/.test(inPackages)) return "lib";
  const [scope = "", name = ""] = inPackages.split("/");
  return scope === "@types" ? name : scope.startsWith("@") ? `${scope}/${name}` : scope;
};
