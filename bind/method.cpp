// method: the decorator of Tokenizer.encode. Calls of Python functions with many options cost more
// than encoding a sentence (docs/develop/log.md, 2026-11-16), so the plain call goes straight to
// the core. Every other call goes to the function, and so does one that fails: it then raises
// what it always raises. In all other respects the method is that function.
#include "method.h"

#include <structmember.h>

#include <tuple>

namespace tokenmill::bind {

namespace {

struct EncodeMethod {
    PyObject head;
    vectorcallfunc call;
    PyObject* function;
    PyObject* owner;          // the class that has the slot `_model`, once it is made
    Py_ssize_t model_offset;  // where that slot is in an object
    PyObject* weak_references;
};

EncodeMethod* method_of(PyObject* object) noexcept {
    return reinterpret_cast<EncodeMethod*>(object);
}

// First asked for when the module is made: no thread waits for the static with the GIL.
PyObject* option_name() noexcept {
    static PyObject* const name = PyUnicode_InternFromString("add_special_tokens");
    return name;
}

// encode(text) or encode(text, add_special_tokens=True), and nothing else. Names of a call are
// interned where a compiler wrote them; any other string is left to the function.
bool is_plain(PyObject* const* args, Py_ssize_t count, PyObject* names, bool& add) noexcept {
    if (count != 2) {
        return false;
    }
    if (names == nullptr) {
        return true;
    }
    add = args[2] == Py_True;
    return PyTuple_GET_SIZE(names) == 1 && PyTuple_GET_ITEM(names, 0) == option_name() &&
           (add || args[2] == Py_False);
}

// Profilers, debuggers and coverage see calls of functions only.
bool is_watched() noexcept {
    const PyThreadState* const thread = PyThreadState_Get();
    return thread->c_profilefunc != nullptr || thread->c_tracefunc != nullptr;
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
    const EncodeMethod* const method = method_of(self);
    bool add = false;
    if (is_plain(args, PyVectorcall_NARGS(flags), names, add) && method->owner != nullptr &&
        PyObject_TypeCheck(args[0], reinterpret_cast<PyTypeObject*>(method->owner)) &&
        !is_watched()) {
        PyObject* const model =
            *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(args[0]) + method->model_offset);
        if (PyObject* const ids = encode_short(model, args[1], add)) {
            return ids;
        }
    }
    return PyObject_Vectorcall(method->function, args, flags, names);
}

PyObject* bind_to(PyObject* self, PyObject* object, PyObject* /*type*/) {
    return object == nullptr ? Py_NewRef(self) : PyMethod_New(self, object);
}

// Python calls this when a class with the method is made, slots included. The first one counts: a
// later class has it under another name, or inherits the slot.
PyObject* set_name(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    EncodeMethod* const method = method_of(self);
    if (count == 2 && method->owner == nullptr) {
        const nb::object slot = nb::steal(PyObject_GetAttrString(args[0], "_model"));
        if (!slot.is_valid()) {
            return nullptr;
        }
        if (!Py_IS_TYPE(slot.ptr(), &PyMemberDescr_Type)) {
            PyErr_SetString(PyExc_TypeError, "encode_method: expected a class with a slot _model");
            return nullptr;
        }
        const auto* const found = reinterpret_cast<PyMemberDescrObject*>(slot.ptr());
        method->model_offset = found->d_member->offset;
        method->owner = Py_NewRef(reinterpret_cast<PyObject*>(PyDescr_TYPE(found)));
    }
    Py_RETURN_NONE;
}

// The name, as for a function.
PyObject* reduce(PyObject* self, PyObject* /*protocol*/) {
    return PyObject_GetAttrString(method_of(self)->function, "__qualname__");
}

// Documentation, signature, annotations, even the class: all are the function's.
PyObject* get_attribute(PyObject* self, PyObject* name) {
    for (const char* own : {"__reduce_ex__", "__set_name__"}) {
        if (PyUnicode_CompareWithASCIIString(name, own) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    return PyObject_GetAttr(method_of(self)->function, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
    return PyObject_SetAttr(method_of(self)->function, name, value);
}

PyObject* represent(PyObject* self) {
    return PyObject_Repr(method_of(self)->function);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(method_of(self)->function);
    Py_VISIT(method_of(self)->owner);
    return 0;
}

int clear(PyObject* self) {
    Py_CLEAR(method_of(self)->function);
    Py_CLEAR(method_of(self)->owner);
    return 0;
}

void destroy(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyObject_ClearWeakRefs(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

nb::object make_type() {
    static PyMethodDef methods[] = {
        {"__set_name__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_name)),
         METH_FASTCALL, nullptr},
        {"__reduce_ex__", reduce, METH_O, nullptr},
        {},
    };
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(EncodeMethod, call), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(EncodeMethod, weak_references), READONLY,
         nullptr},
        {},
    };
    static PyType_Slot slots[] = {
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
        {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
        {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
        {Py_tp_repr, reinterpret_cast<void*>(represent)},
        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(clear)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {0, nullptr},
    };
    static PyType_Spec spec = {"tokenmill._core.EncodeMethod", sizeof(EncodeMethod), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                   Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    return nb::steal(PyType_FromSpec(&spec));
}

}  // namespace

void register_method(nb::module_& m) {
    std::ignore = option_name();
    m.def(
        "encode_method",
        [type = make_type()](nb::object function) {
            auto* const made = reinterpret_cast<PyTypeObject*>(type.ptr());
            PyObject* const self = made->tp_alloc(made, 0);
            if (self == nullptr) {
                nb::raise_python_error();
            }
            method_of(self)->call = call;
            method_of(self)->function = function.release().ptr();
            return nb::steal(self);
        },
        nb::arg("function"),
        "Return the method `function`, whose plain calls encode with the slot `_model`.");
}

}  // namespace tokenmill::bind
