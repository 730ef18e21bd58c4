// A stub of ros2_control's controller_interface, palpate's own and for tests alone: the virtual functions and members
// that the exported controller uses, without ROS. It shows that the controller compiles, loads as a plugin and does what
// it should with values that are there and values that are not; not that it runs in a controller manager.
#pragma once
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rclcpp {
struct Time {
    int64_t count = 0;
    bool operator!=(const Time &other) const { return count != other.count; }
};
struct Duration {
    double value;
    double seconds() const { return value; }
};
struct Node {
    const char *get_name() const { return "arm"; }
    int get_logger() const { return 0; }
};
} // namespace rclcpp

namespace rclcpp_lifecycle {
struct State {};
} // namespace rclcpp_lifecycle

namespace hardware_interface {
class Handle {
  public:
    Handle(const std::string &prefix, const std::string &name) : name_(prefix + "/" + name) {}
    const std::string &get_name() const { return name_; }
    [[nodiscard]] std::optional<double> get_optional() const { return busy ? std::nullopt : std::optional(value); }
    [[nodiscard]] bool set_value(double number) {
        if (busy) return false;
        value = number;
        return true;
    }
    double value = std::nan("");
    bool busy = false; // as when somebody else holds its lock

  private:
    std::string name_;
};
class CommandInterface : public Handle {
  public:
    using Handle::Handle;
    using SharedPtr = std::shared_ptr<CommandInterface>;
};
class LoanedInterface {
  public:
    explicit LoanedInterface(Handle *handle) : handle_(handle) {}
    [[nodiscard]] std::optional<double> get_optional() const { return handle_->get_optional(); }
    [[nodiscard]] bool set_value(double number) { return handle_->set_value(number); }

  private:
    Handle *handle_;
};
} // namespace hardware_interface

namespace controller_interface {
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration {
    interface_configuration_type type;
    std::vector<std::string> names;
};

class ChainableControllerInterface {
  public:
    virtual ~ChainableControllerInterface() = default;
    virtual CallbackReturn on_init() = 0;
    virtual InterfaceConfiguration command_interface_configuration() const = 0;
    virtual InterfaceConfiguration state_interface_configuration() const = 0;
    virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
    virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;

    std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces() {
        return ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
    }
    return_type update(const rclcpp::Time &time, const rclcpp::Duration &period) {
        if (!chained && update_reference_from_subscribers(time, period) != return_type::OK) return return_type::ERROR;
        return update_and_write_commands(time, period);
    }
    bool chained = false;
    std::vector<hardware_interface::LoanedInterface> command_interfaces_, state_interfaces_;

  protected:
    virtual std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() = 0;
    virtual return_type update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) = 0;
    virtual return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) = 0;
    const std::shared_ptr<rclcpp::Node> &get_node() const { return node_; }
    std::vector<hardware_interface::CommandInterface::SharedPtr> ordered_exported_reference_interfaces_;

  private:
    std::shared_ptr<rclcpp::Node> node_ = std::make_shared<rclcpp::Node>();
};
} // namespace controller_interface
