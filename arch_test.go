package coop_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/coop-dev/coop"

// layers is the map of the code, from the top down. A package may import
// packages of lower layers and, within a layer, only what `beside` allows.
//
// Why: the code that touches the kernel must be readable without knowing the
// surfaces above it, and a surface must not reach past the use cases.
var layers = [][]string{
	{"cmd/coop", "cmd/coop-init", "test/..."},
	{"internal/daemon"},
	{"internal/server", "internal/cli", "internal/cli/fakedaemon"},
	{"internal/engine", "internal/review", "internal/terminal"},
	{"internal/terminal/screen", "internal/terminal/filter", "internal/terminal/store", "internal/image", "internal/image/unpack", "internal/base", "internal/volume", "internal/store/postgres", "internal/store/relational", "internal/rootfs/copy", "internal/changes/patch", "internal/changes/manifest", "internal/launch", "internal/launch/initbin", "internal/rootfs", "internal/rootfs/overlay", "internal/rootfs/hostimage", "internal/workspace", "internal/changes", "internal/store", "internal/store/sqlite", "internal/store/storetest"},
	{"internal/pid1", "internal/initproto"},
	{"internal/linux/..."},
	{"internal/config", "internal/sandbox", "internal/fence", "client", "api"},
}

// beside are the arrows that may stay within a layer: a package and its parts,
// a contract and those who fulfil it.
var beside = []string{
	"internal/cli/fakedaemon", // the CLI's and the client's tests share one fake
	"internal/config → api",
	"internal/engine → internal/review",
	"internal/engine → internal/terminal",
	"internal/launch → internal/launch/initbin",
	"internal/rootfs → internal/rootfs/overlay",
	"internal/rootfs → internal/rootfs/hostimage",
	"internal/rootfs → internal/workspace",
	"internal/rootfs → internal/rootfs/copy",
	"internal/volume → internal/rootfs/copy",
	"internal/image → internal/image/unpack",
	"internal/changes → internal/changes/patch",
	"internal/changes → internal/changes/manifest",
	"internal/rootfs/copy → internal/changes/manifest",
	"internal/store/postgres → internal/store",
	"internal/store/postgres → internal/store/relational",
	"internal/store/relational → internal/store",
	"internal/store/sqlite → internal/store/relational",
	"internal/store/sqlite → internal/store",
	"internal/store/storetest → internal/store",
	"internal/pid1 → internal/initproto",
	"internal/linux/",
	"client → api",
	"test/",
}

// only lists packages that may import nothing of ours but what is named, with
// the reason.
var only = map[string]struct {
	allowed []string
	why     string
}{
	"internal/sandbox": {nil, "the domain knows nothing"},
	"internal/fence":   {nil, "it is compiled into PID 1"},
	"api":              {nil, "other people's programs import it"},
	"client":           {[]string{"api"}, "other people's programs import it"},
	"internal/cli":     {[]string{"api", "client", "internal/config"}, "what the CLI can do, the API can do: no back door"},
	"internal/pid1":    {[]string{"internal/initproto", "internal/fence", "internal/linux/"}, "PID 1 must stay tiny"},
}

// standardOnly may import no module but ours and the standard library.
var standardOnly = []string{"api", "client", "internal/sandbox"}

func TestImportsGoDown(t *testing.T) {
	for pkg, files := range packages(t) {
		for _, f := range files {
			if strings.HasSuffix(f.name, "_test.go") {
				continue // tests may look anywhere; what ships may not
			}
			for _, imp := range f.imports() {
				checkImport(t, pkg, f.name, imp)
			}
		}
	}
}

func checkImport(t *testing.T, pkg, file, imp string) {
	to, ours := strings.CutPrefix(imp, module+"/")
	if !ours {
		if strings.Contains(strings.Split(imp, "/")[0], ".") && slices.Contains(standardOnly, pkg) {
			t.Errorf("%s imports %s: %s may use the standard library only", file, imp, pkg)
		}
		if imp == "net" && (pkg == "internal/pid1" || pkg == "internal/initproto") {
			t.Errorf("%s imports net: it would cost PID 1 a poller and a megabyte", file)
		}
		return
	}
	if rule, ok := only[pkg]; ok && !matches(to, rule.allowed) {
		t.Errorf("%s imports %s: %s", file, to, rule.why)
	}
	from, below := layer(t, pkg), layer(t, to)
	if below < from || (below == from && !allowedBeside(pkg, to)) {
		t.Errorf("%s imports %s: the arrow goes up or sideways; see layers in arch_test.go", file, to)
	}
}

func matches(to string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return to == a || (strings.HasSuffix(a, "/") && strings.HasPrefix(to, a))
	})
}

func layer(t *testing.T, pkg string) int {
	t.Helper()
	for i, l := range layers {
		for _, p := range l {
			if dir, all := strings.CutSuffix(p, "/..."); p == pkg || (all && strings.HasPrefix(pkg, dir+"/")) {
				return i
			}
		}
	}
	t.Fatalf("package %s has no place in layers: give it one in arch_test.go", pkg)
	return 0
}

func allowedBeside(pkg, to string) bool {
	return slices.ContainsFunc(beside, func(b string) bool {
		return b == pkg+" → "+to || (strings.HasSuffix(b, "/") && strings.HasPrefix(pkg, b)) || b == to || b == pkg
	})
}

// TestRawSystemCalls keeps the kernel below internal/linux and in PID 1. Other
// packages may name error numbers, signals and flags, but call nothing.
func TestRawSystemCalls(t *testing.T) {
	for pkg, files := range packages(t) {
		if strings.HasPrefix(pkg, "internal/linux/") || pkg == "internal/pid1" || strings.HasPrefix(pkg, "test/") {
			continue
		}
		for _, f := range files {
			if strings.HasSuffix(f.name, "_test.go") {
				continue
			}
			if slices.Contains(f.imports(), "golang.org/x/sys/unix") {
				t.Errorf("%s imports x/sys/unix: raw system calls live below internal/linux", f.name)
			}
			for _, name := range f.uses("syscall") {
				if !harmless(name) {
					t.Errorf("%s uses syscall.%s: raw system calls live below internal/linux", f.name, name)
				}
			}
		}
	}
}

// harmless names are types and numbers.
func harmless(name string) bool {
	if slices.Contains([]string{"Errno", "Signal", "SysProcAttr", "SysProcIDMap", "Stat_t", "Credential"}, name) {
		return true
	}
	return name == strings.ToUpper(name) // EPERM, SIGTERM, O_NONBLOCK
}

func TestPackagesSayWhatTheyOwn(t *testing.T) {
	for pkg, files := range packages(t) {
		if !slices.ContainsFunc(files, func(f file) bool { return f.ast.Doc != nil }) {
			t.Errorf("package %s has no doc comment", pkg)
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, files := range packages(t) {
		for _, f := range files {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function: constructors are called, not run by importing", f.name)
				}
			}
		}
	}
}

// file is one parsed source file.
type file struct {
	name string
	ast  *ast.File
}

func (f file) imports() []string {
	var list []string
	for _, i := range f.ast.Imports {
		list = append(list, strings.Trim(i.Path.Value, `"`))
	}
	return list
}

// uses lists the names taken from an imported package.
func (f file) uses(pkg string) []string {
	if !slices.Contains(f.imports(), pkg) {
		return nil
	}
	var names []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg {
				names = append(names, s.Sel.Name)
			}
		}
		return true
	})
	return names
}

// packages parses every Go file of the module, by directory.
func packages(t *testing.T) map[string][]file {
	t.Helper()
	all := map[string][]file{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(p) != ".go" || filepath.Dir(p) == "." {
			return nil
		}
		parsed, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(p))
		all[pkg] = append(all[pkg], file{p, parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
